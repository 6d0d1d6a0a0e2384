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
{{- $broker := "events.url is required: amqp://USER@HOST:PORT/VHOST of a RabbitMQ, as each target is a process of its own" -}}
{{- $config := dict
  "listen" "0.0.0.0:7400"
  "metrics" (dict "listen" "0.0.0.0:7490" "insecure" true)
  "dataDir" "/var/lib/winnow"
  "postgres" (dict "url" (required $missing .Values.postgres.url))
  "events" (dict "url" (required $broker .Values.events.url))
  "calls" (dict "drainDelay" "5s" "drainTimeout" "20s") -}}
{{- if .Values.postgres.passwordSecret.name -}}
{{- $_ := set $config.postgres "passwordFile" "/etc/winnow/secrets/postgres/password" -}}
{{- end -}}
{{- if .Values.events.passwordSecret.name -}}
{{- $_ := set $config.events "passwordFile" "/etc/winnow/secrets/events/password" -}}
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
{{- range $path, $model := dict "dedup.embedder" .Values.dedup.embedder "classification.llm" .Values.classification.llm -}}
{{- if $model.url -}}
{{- $names := splitList "." $path -}}
{{- $settings := dict "url" $model.url "model" (required (printf "%s.model is required with its url" $path) $model.model) -}}
{{- if $model.keySecret.name -}}
{{- $_ := set $settings "keyFile" (printf "/etc/winnow/secrets/%s/key" (last $names)) -}}
{{- end -}}
{{- $_ := set $config (first $names) (dict (last $names) $settings) -}}
{{- end -}}
{{- end -}}
{{- $peers := dict -}}
{{- range $name, $settings := pick (include "winnow.targets" . | fromYaml) "collector" "dedup" "newsfeed" -}}
{{- $_ := set $peers $name (printf "dns:///%s-%s.%s.svc:7400"
  (include "winnow.fullname" $) $name $.Release.Namespace) -}}
{{- end -}}
{{- if .Values.tls.caSecret.name -}}
{{- $_ := required "tls.secretName is required with tls.caSecret: without it peers speak no TLS" .Values.tls.secretName -}}
{{- $_ := set $peers "caFile" "/etc/winnow/secrets/peers/ca.crt" -}}
{{- end -}}
{{- $_ := set $config "peers" $peers -}}
{{- $config = mergeOverwrite $config (deepCopy .Values.config) -}}
{{- if pick (include "winnow.targets" . | fromYaml) "dedup" "newsfeed" -}}
{{- $_ := required "config.peers.collector is required where targets.collector is not enabled: HOST:PORT of the one that dedup and newsfeed read items from" (get $config.peers "collector") -}}
{{- end -}}
{{- toPrettyJson $config -}}
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

{{/* The Secrets that the pods of a target read, as YAML: volume -> its Secret, and the key and the
file of it; without a key all of it. Each is mounted at /etc/winnow/secrets/<volume>. A list: (root,
target), "migrate" being the Job, which reads the store's alone. "for" is the one target that reads
a Secret; the others are read by every server. */}}
{{- define "winnow.secrets" -}}
{{- $values := (index . 0).Values -}}
{{- $target := index . 1 -}}
{{- $all := dict
  "postgres" (dict "of" $values.postgres.passwordSecret "file" "password")
  "events" (dict "of" $values.events.passwordSecret "file" "password")
  "redis" (dict "of" $values.redis.passwordSecret "file" "password")
  "credentials" (dict "of" (dict "name" $values.collector.credentialsSecret) "for" "collector")
  "embedder" (dict "of" $values.dedup.embedder.keySecret "file" "key" "for" "dedup")
  "llm" (dict "of" $values.classification.llm.keySecret "file" "key" "for" "classification")
  "tls" (dict "of" (dict "name" $values.tls.secretName))
  "peers" (dict "of" $values.tls.caSecret "file" "ca.crt")
  "bearer" (dict "of" $values.auth.bearerSecret "file" "token") -}}
{{- $used := dict -}}
{{- range $volume, $secret := $all -}}
{{- $reads := ternary (eq $volume "postgres") (eq $target (default $target $secret.for)) (eq $target "migrate") -}}
{{- if and $secret.of.name $reads -}}
{{- $_ := set $used $volume $secret -}}
{{- end -}}
{{- end -}}
{{- toYaml $used -}}
{{- end -}}

{{/* A list: (root, target). */}}
{{- define "winnow.volumeMounts" -}}
- {name: config, mountPath: /etc/winnow/config.json, subPath: config.json, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- range $volume, $secret := include "winnow.secrets" . | fromYaml }}
- {name: {{ $volume }}, mountPath: /etc/winnow/secrets/{{ $volume }}, readOnly: true}
{{- end }}
{{- end -}}

{{/* A list: (root, target, name of the ConfigMap). */}}
{{- define "winnow.volumes" -}}
- name: config
  configMap: {name: {{ index . 2 }}}
- name: tmp
  emptyDir: {}
{{- range $volume, $secret := include "winnow.secrets" . | fromYaml }}
- name: {{ $volume }}
  {{- if $secret.file }}
  secret: {secretName: {{ $secret.of.name }}, items: [{key: {{ $secret.of.key }}, path: {{ $secret.file }}}]}
  {{- else }}
  secret: {secretName: {{ $secret.of.name }}}
  {{- end }}
{{- end }}
{{- end -}}
