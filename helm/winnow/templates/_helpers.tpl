{{/* Name of everything that belongs to the release. */}}
{{- define "winnow.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "winnow.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "winnow.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "winnow.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The targets that are enabled, as YAML: name -> settings over the defaults. */}}
{{- define "winnow.targets" -}}
{{- $targets := dict -}}
{{- range $name, $own := .Values.targets -}}
{{- $settings := mergeOverwrite (deepCopy $.Values.defaults) (default (dict) $own) -}}
{{- if $settings.enabled -}}
{{- $_ := set $targets $name $settings -}}
{{- end -}}
{{- end -}}
{{- toYaml $targets -}}
{{- end -}}

{{/* Health name of a target's service. */}}
{{- define "winnow.serviceName" -}}
{{- get (dict
  "collector" "winnow.collector.v1.CollectorService"
  "dedup" "winnow.dedup.v1.DedupService"
  "newsfeed" "winnow.newsfeed.v1.NewsFeedService"
  "classification" "winnow.classification.v1.ClassificationService"
  "polling" "winnow.polling.v1.PollingRegistryService") . -}}
{{- end -}}

{{/* winnow.config.v1.Config of all pods; the target comes by flag. */}}
{{- define "winnow.config" -}}
{{- $missing := "postgres.url is required: postgres://USER@HOST:PORT/DATABASE" -}}
{{- $config := dict
  "listen" "0.0.0.0:7400"
  "metrics" (dict "listen" "0.0.0.0:7490" "insecure" true)
  "dataDir" "/var/lib/winnow"
  "postgres" (dict "url" (required $missing .Values.postgres.url))
  "calls" (dict "drainDelay" "5s" "drainTimeout" "20s") -}}
{{- if .Values.postgres.passwordSecret.name -}}
{{- $_ := set $config.postgres "passwordFile" "/etc/winnow/secrets/postgres/password" -}}
{{- end -}}
{{- if .Values.events.url -}}
{{- $_ := set $config "events" (dict "url" .Values.events.url) -}}
{{- if .Values.events.passwordSecret.name -}}
{{- $_ := set $config.events "passwordFile" "/etc/winnow/secrets/events/password" -}}
{{- end -}}
{{- end -}}
{{- if .Values.redis.url -}}
{{- $_ := set $config "redis" (dict "url" .Values.redis.url) -}}
{{- if .Values.redis.passwordSecret.name -}}
{{- $_ := set $config.redis "passwordFile" "/etc/winnow/secrets/redis/password" -}}
{{- end -}}
{{- end -}}
{{- if .Values.tls.secretName -}}
{{- $_ := set $config "tls" (dict
  "certFile" "/etc/winnow/secrets/tls/tls.crt" "keyFile" "/etc/winnow/secrets/tls/tls.key") -}}
{{- else -}}
{{- $_ := set $config "insecure" true -}}
{{- end -}}
{{- if .Values.auth.bearerSecret.name -}}
{{- $_ := set $config "auth" (dict "bearerTokenFile" "/etc/winnow/secrets/bearer/token") -}}
{{- end -}}
{{- $peers := dict -}}
{{- range $name, $settings := pick (include "winnow.targets" . | fromYaml) "collector" "dedup" "newsfeed" -}}
{{- $_ := set $peers $name (printf "dns:///%s-%s.%s.svc:7400"
  (include "winnow.fullname" $) $name $.Release.Namespace) -}}
{{- end -}}
{{- $_ := set $config "peers" $peers -}}
{{- mergeOverwrite $config (deepCopy .Values.config) | toPrettyJson -}}
{{- end -}}

{{- define "winnow.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "winnow.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "winnow.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{- define "winnow.volumeMounts" -}}
- {name: config, mountPath: /etc/winnow/config.json, subPath: config.json, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .Values.postgres.passwordSecret.name }}
- {name: postgres, mountPath: /etc/winnow/secrets/postgres, readOnly: true}
{{- end }}
{{- if .Values.events.passwordSecret.name }}
- {name: events, mountPath: /etc/winnow/secrets/events, readOnly: true}
{{- end }}
{{- if .Values.redis.passwordSecret.name }}
- {name: redis, mountPath: /etc/winnow/secrets/redis, readOnly: true}
{{- end }}
{{- if .Values.collector.credentialsSecret }}
- {name: credentials, mountPath: /etc/winnow/secrets/credentials, readOnly: true}
{{- end }}
{{- if .Values.tls.secretName }}
- {name: tls, mountPath: /etc/winnow/secrets/tls, readOnly: true}
{{- end }}
{{- if .Values.auth.bearerSecret.name }}
- {name: bearer, mountPath: /etc/winnow/secrets/bearer, readOnly: true}
{{- end }}
{{- end -}}

{{/* A list: (root, name of the ConfigMap). */}}
{{- define "winnow.volumes" -}}
{{- $root := index . 0 -}}
- name: config
  configMap: {name: {{ index . 1 }}}
- name: tmp
  emptyDir: {}
{{- with $root.Values.postgres.passwordSecret }}
{{- if .name }}
- name: postgres
  secret: {secretName: {{ .name }}, items: [{key: {{ .key }}, path: password}]}
{{- end }}
{{- end }}
{{- with $root.Values.events.passwordSecret }}
{{- if .name }}
- name: events
  secret: {secretName: {{ .name }}, items: [{key: {{ .key }}, path: password}]}
{{- end }}
{{- end }}
{{- with $root.Values.redis.passwordSecret }}
{{- if .name }}
- name: redis
  secret: {secretName: {{ .name }}, items: [{key: {{ .key }}, path: password}]}
{{- end }}
{{- end }}
{{- with $root.Values.collector.credentialsSecret }}
- name: credentials
  secret: {secretName: {{ . }}}
{{- end }}
{{- with $root.Values.tls.secretName }}
- name: tls
  secret: {secretName: {{ . }}}
{{- end }}
{{- with $root.Values.auth.bearerSecret }}
{{- if .name }}
- name: bearer
  secret: {secretName: {{ .name }}, items: [{key: {{ .key }}, path: token}]}
{{- end }}
{{- end }}
{{- end -}}
