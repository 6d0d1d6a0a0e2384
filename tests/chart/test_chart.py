"""The chart, rendered by the real helm over a matrix of values and checked without a network."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "winnow"
HELM = os.environ.get("HELM", str(ROOT / ".tools" / "bin" / "helm"))
KUBERNETES = ("1.27", "1.30")
BASE = (
    "postgres.url=postgres://winnow@db.example/winnow",
    "events.url=amqp://winnow@mq.example/news",
)
SECRETS = (
    "postgres.passwordSecret.name=pg",
    "events.passwordSecret.name=mq",
    "redis.url=redis://cache.example:6379/0",
    "redis.passwordSecret.name=cache",
)
SECURE = ("tls.secretName=tls", "auth.bearerSecret.name=bearer")
# Of every target, and others of dedup; of the Job.
EXTRAS = (
    "defaults.env[0].name=TZ",
    "defaults.env[0].value=UTC",
    "defaults.extraVolumes[0].name=scratch",
    "defaults.extraVolumes[0].emptyDir.medium=Memory",
    "defaults.extraVolumeMounts[0].name=scratch",
    "defaults.extraVolumeMounts[0].mountPath=/scratch",
    "defaults.extraContainers[0].name=proxy",
    "defaults.extraContainers[0].image=proxy:1",
    "defaults.initContainers[0].name=wait",
    "defaults.initContainers[0].image=wait:1",
    "targets.dedup.env[0].name=OWN",
    "targets.dedup.env[0].valueFrom.fieldRef.fieldPath=status.podIP",
    "migrate.env[0].name=TZ",
    "migrate.env[0].value=UTC",
    "migrate.extraVolumes[0].name=scratch",
    "migrate.extraVolumes[0].emptyDir.medium=Memory",
    "migrate.extraVolumeMounts[0].name=scratch",
    "migrate.extraVolumeMounts[0].mountPath=/scratch",
    "migrate.initContainers[0].name=wait",
    "migrate.initContainers[0].image=wait:1",
)
MATRIX = {
    "smallest": (),
    "secrets": SECRETS,
    "secure": (*SECRETS, *SECURE),
    "one target": (
        "targets.collector.enabled=false",
        "targets.dedup.enabled=false",
        "config.peers.collector=collector.elsewhere:7400",
    ),
    "peers with certificates of a cluster's own": (
        *SECRETS,
        *SECURE,
        "tls.caSecret.name=cluster-ca",
    ),
    "own settings": (
        "targets.dedup.replicas=5",
        "targets.dedup.resources.limits.memory=4Gi",
        "targets.newsfeed.maxUnavailable=0",
        "config.log.level=debug",
        "config.dedup.sameChannel=true",
    ),
    "credentials": (
        "collector.credentialsSecret=keys",
        "config.collector.credentials[0].name=naver",
        "config.collector.credentials[0].vendor=naver",
        "config.collector.credentials[0].idFile=/etc/winnow/secrets/credentials/naver-id",
        "config.collector.credentials[0].keyFile=/etc/winnow/secrets/credentials/naver-key",
    ),
    "models": (
        "dedup.embedder.url=http://embeddings.example/v1",
        "dedup.embedder.model=e5-query",
        "dedup.embedder.keySecret.name=embedder-key",
        "classification.llm.url=https://llm.example/v1",
        "classification.llm.model=gpt-5-mini",
        "classification.llm.keySecret.name=llm-key",
        "classification.llm.keySecret.key=api-key",
        "config.classification.llm.inputPriceMicros=250000",
    ),
    "a model without a key": (
        "classification.llm.url=http://127.0.0.1:8000/v1",
        "classification.llm.model=local",
    ),
    "topology": ("events.topology.enabled=true", "events.topology.deadLetterTtl=604800000"),
    "extras": EXTRAS,
    "operator of Prometheus": (
        "metrics.podMonitor.enabled=true",
        "metrics.podMonitor.labels.release=prometheus",
        "metrics.prometheusRule.enabled=true",
        "targets.polling.enabled=false",
        "targets.dedup.replicas=3",
    ),
    "no migration": ("migrate.enabled=false", "serviceAccount.create=false"),
}

Manifest = dict[str, Any]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, check=False)


@functools.cache
def template(values: tuple[str, ...], version: str) -> str:
    sets = [argument for value in (*BASE, *values) for argument in ("--set", value)]
    result = helm("template", "w", str(CHART), "--kube-version", f"{version}.0", *sets)
    assert result.returncode == 0, result.stderr
    return result.stdout


def render(values: tuple[str, ...], version: str = "1.30") -> list[Manifest]:
    documents = yaml.safe_load_all(template(values, version))
    return [document for document in documents if document is not None]


def of_kind(manifests: list[Manifest], kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest["kind"] == kind]


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
def test_lints(values: tuple[str, ...]) -> None:
    sets = [argument for value in (*BASE, *values) for argument in ("--set", value)]
    result = helm("lint", str(CHART), "--strict", *sets)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
def test_every_manifest_is_valid(values: tuple[str, ...], version: str) -> None:
    for manifest in render(values, version):
        if manifest["apiVersion"].startswith(("rabbitmq.com/", "monitoring.coreos.com/")):
            continue  # a custom resource: Kubernetes itself has no schema of it
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
def test_winnow_accepts_the_configuration(values: tuple[str, ...], tmp_path: Path) -> None:
    binary = os.environ["WINNOW_BINARY"]
    manifests = render(values)
    config = of_kind(manifests, "ConfigMap")[0]["data"]["config.json"]
    file = tmp_path / "config.json"
    file.write_text(config)
    for deployment in of_kind(manifests, "Deployment"):
        target = deployment["metadata"]["labels"]["app.kubernetes.io/component"]
        result = subprocess.run(
            [binary, "check-config", "--config", str(file), "--target", target],
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr


def secrets_of(workload: Manifest) -> Manifest:
    """The Secrets that its pod mounts, each by the folder below /etc/winnow/secrets."""
    pod = workload["spec"]["template"]["spec"]
    volumes = {each["name"]: each["secret"] for each in pod["volumes"] if "secret" in each}
    mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
    assert set(volumes) <= set(mounts)
    return {Path(mounts[name]).name: volume for name, volume in volumes.items()}


def test_a_pod_mounts_the_secrets_that_its_target_reads_and_no_other() -> None:
    values = (*MATRIX["credentials"], *MATRIX["models"], *SECRETS, *SECURE, "tls.caSecret.name=ca")
    manifests = render(values)
    served = {"postgres", "events", "redis", "tls", "peers", "bearer"}
    expected = {
        "collector": served | {"credentials"},
        "dedup": served | {"embedder"},
        "newsfeed": served,
        "classification": served | {"llm"},
        "polling": served,
        "migrate": {"postgres"},
    }
    mounted = {
        each["metadata"]["labels"]["app.kubernetes.io/component"]: set(secrets_of(each))
        for each in of_kind(manifests, "Deployment") + of_kind(manifests, "Job")
    }
    assert mounted == expected


def test_the_files_that_the_configuration_names_are_mounted() -> None:
    values = (*MATRIX["credentials"], *MATRIX["models"], *SECRETS, *SECURE, "tls.caSecret.name=ca")
    manifests = render(values)
    config = of_kind(manifests, "ConfigMap")[0]["data"]["config.json"]
    named = set(re.findall(r"/etc/winnow/secrets/([\w-]+)/([\w.-]+)", config))
    of_a_folder = {"credentials": {"naver-id", "naver-key"}, "tls": {"tls.crt", "tls.key"}}
    mounted = set()
    for deployment in of_kind(manifests, "Deployment"):
        for folder, secret in secrets_of(deployment).items():
            files = {each["path"] for each in secret.get("items", [])}
            mounted |= {(folder, file) for file in files or of_a_folder[folder]}
    assert named == mounted


def test_peers_are_trusted_by_the_authorities_of_a_secret() -> None:
    manifests = render(("tls.secretName=tls", "tls.caSecret.name=ca", "tls.caSecret.key=roots.pem"))
    for deployment in of_kind(manifests, "Deployment"):
        assert secrets_of(deployment)["peers"] == {
            "secretName": "ca",
            "items": [{"key": "roots.pem", "path": "ca.crt"}],
        }
    config = json.loads(of_kind(manifests, "ConfigMap")[0]["data"]["config.json"])
    assert config["peers"]["caFile"] == "/etc/winnow/secrets/peers/ca.crt"
    without = of_kind(render(("tls.secretName=tls",)), "ConfigMap")[0]["data"]["config.json"]
    assert "caFile" not in json.loads(without)["peers"]


def test_keys_of_models_are_files_of_the_pods() -> None:
    manifests = render(MATRIX["models"])
    mounted = {
        each["metadata"]["labels"]["app.kubernetes.io/component"]: secrets_of(each)
        for each in of_kind(manifests, "Deployment")
    }
    assert mounted["classification"]["llm"] == {
        "secretName": "llm-key",
        "items": [{"key": "api-key", "path": "key"}],
    }
    assert mounted["dedup"]["embedder"] == {
        "secretName": "embedder-key",
        "items": [{"key": "key", "path": "key"}],
    }
    config = json.loads(of_kind(manifests, "ConfigMap")[0]["data"]["config.json"])
    assert config["classification"]["llm"] == {
        "url": "https://llm.example/v1",
        "model": "gpt-5-mini",
        "keyFile": "/etc/winnow/secrets/llm/key",
        "inputPriceMicros": 250000,
    }
    assert config["dedup"]["embedder"]["keyFile"] == "/etc/winnow/secrets/embedder/key"
    without = json.loads(of_kind(render(()), "ConfigMap")[0]["data"]["config.json"])
    assert not {"classification", "dedup"} & without.keys()


def test_each_target_has_a_deployment_a_service_and_a_budget() -> None:
    manifests = render(())
    targets = ("collector", "dedup", "newsfeed", "classification", "polling")
    names = {f"w-winnow-{target}" for target in targets}
    for kind in ("Deployment", "Service", "PodDisruptionBudget"):
        assert {m["metadata"]["name"] for m in of_kind(manifests, kind)} == names, kind
    for service in of_kind(manifests, "Service"):
        port = service["spec"]["ports"][0]
        assert (port["name"], port["appProtocol"]) == ("grpc", "grpc")


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
def test_pods_are_not_root_and_cannot_write_their_image(values: tuple[str, ...]) -> None:
    workloads = [m for m in render(values) if m["kind"] in ("Deployment", "Job")]
    assert workloads
    for workload in workloads:
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            if container["name"] == "proxy":
                continue  # its values' own
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] is True
            assert security["allowPrivilegeEscalation"] is False
            assert "requests" in container["resources"]


def test_probes_ask_by_grpc_for_the_service_of_the_target() -> None:
    for deployment in of_kind(render(()), "Deployment"):
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        target = container["args"][-1]
        service = container["readinessProbe"]["grpc"]["service"].lower()
        assert service.startswith(f"winnow.{target}.v1.{target}")
        assert service.endswith("service")


def test_only_a_dead_process_restarts_a_pod_and_a_start_may_take_minutes() -> None:
    for deployment in of_kind(render(()), "Deployment"):
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        assert "service" not in container["livenessProbe"]["grpc"]
        startup = container["startupProbe"]
        assert "service" not in startup["grpc"]
        assert startup["periodSeconds"] * startup["failureThreshold"] >= 600


def test_extras_are_added_to_what_the_chart_makes() -> None:
    plain = of_kind(render(()), "Deployment") + of_kind(render(()), "Job")
    manifests = render(EXTRAS)
    extended = of_kind(manifests, "Deployment") + of_kind(manifests, "Job")
    for before, after in zip(plain, extended, strict=True):
        name = before["metadata"]["labels"]["app.kubernetes.io/component"]
        old, new = before["spec"]["template"]["spec"], after["spec"]["template"]["spec"]
        assert new["volumes"] == [
            *old["volumes"],
            {"name": "scratch", "emptyDir": {"medium": "Memory"}},
        ]
        assert new["containers"][0]["volumeMounts"] == [
            *old["containers"][0]["volumeMounts"],
            {"name": "scratch", "mountPath": "/scratch"},
        ]
        own = {"name": "OWN", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        assert new["containers"][0]["env"] == [
            own if name == "dedup" else {"name": "TZ", "value": "UTC"}
        ]
        assert new["initContainers"] == [{"name": "wait", "image": "wait:1"}]
        sidecars = [] if name == "migrate" else [{"name": "proxy", "image": "proxy:1"}]
        assert new["containers"][1:] == sidecars
        assert not {"initContainers"} & old.keys()
        assert "env" not in old["containers"][0]


def test_prometheus_knows_the_installation_and_what_is_expected_of_it() -> None:
    manifests = render(MATRIX["operator of Prometheus"])
    monitor = of_kind(manifests, "PodMonitor")[0]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    labels = of_kind(manifests, "Deployment")[0]["spec"]["template"]["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    endpoint = monitor["spec"]["podMetricsEndpoints"][0]
    ports = of_kind(manifests, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0][
        "ports"
    ]
    assert endpoint["port"] in {port["name"] for port in ports}
    installation = {"targetLabel": "installation", "replacement": "default/w"}
    assert installation in endpoint["relabelings"]
    rules = of_kind(manifests, "PrometheusRule")[0]["spec"]["groups"][0]["rules"]
    expected = {rule["labels"]["target"]: rule["expr"] for rule in rules}
    assert expected == {
        "collector": "vector(2)",
        "dedup": "vector(3)",
        "newsfeed": "vector(2)",
        "classification": "vector(2)",
    }
    assert all(rule["labels"]["installation"] == "default/w" for rule in rules)
    assert not of_kind(render(()), "PodMonitor") + of_kind(render(()), "PrometheusRule")


def mebibytes(quantity: str) -> int:
    number, unit = int(quantity[:-2]), quantity[-2:]
    return number * {"Mi": 1, "Gi": 1024}[unit]


def test_default_limits_hold_what_is_derived_from_them() -> None:
    """tests/unit/platform/config/resource_defaults_test.cc: every target fits from 768 MiB on."""
    for deployment in of_kind(render(()), "Deployment"):
        resources = deployment["spec"]["template"]["spec"]["containers"][0]["resources"]
        limit = mebibytes(resources["limits"]["memory"])
        assert limit >= 768
        assert limit / 2 <= mebibytes(resources["requests"]["memory"]) <= limit
        assert "cpu" not in resources["limits"]  # pools are capped without a quota


def test_sizes_of_buffers_caches_and_pools_are_left_to_the_limits() -> None:
    config = json.loads(of_kind(render(()), "ConfigMap")[0]["data"]["config.json"])
    assert config["calls"].keys() == {"drainDelay", "drainTimeout"}
    assert config["postgres"].keys() == {"url"}
    assert not {"dedup", "newsfeed"} & config.keys()


def constant(name: str) -> int:
    """A number of the topology that Winnow declares; tests/e2e/test_split.py asks the broker."""
    header = (ROOT / "services/platform/events/core/topology.h").read_text()
    found = re.search(rf"int {name} = ([0-9']+);", header)
    assert found, name
    return int(found[1].replace("'", ""))


def test_the_topology_is_the_one_that_winnow_declares() -> None:
    manifests = render(MATRIX["topology"])
    source = (ROOT / "services/platform/events/core/topology.cc").read_text()
    declared = set()
    for service, event in re.findall(r'"(\w+)", "winnow\.events\.v1\.(\w+)"\)', source):
        queue = f"winnow.{service}.{event}.v1"
        declared |= {queue, f"{queue}.dead"}
    assert {m["spec"]["name"] for m in of_kind(manifests, "Queue")} == declared
    bindings = {m["spec"]["destination"]: m["spec"] for m in of_kind(manifests, "Binding")}
    assert set(bindings) == declared
    for queue in of_kind(manifests, "Queue"):
        name = queue["spec"]["name"]
        arguments = queue["spec"]["arguments"]
        assert arguments["x-queue-type"] == "quorum"
        limit = "kDeadDeliveryLimit" if name.endswith(".dead") else "kDeliveryLimit"
        assert arguments["x-delivery-limit"] == constant(limit)
        if name.endswith(".dead"):
            assert bindings[name]["source"] == "winnow.events.dead"
        else:
            assert arguments["x-dead-letter-routing-key"] == name
            assert arguments["x-max-length"] == constant("kMaxQueueLength")
            event = name.split(".")[2]
            assert bindings[name]["routingKey"] == f"winnow.events.v1.{event}"
    assert len(of_kind(manifests, "Policy")) == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("postgress.url=x", "postgress"),
        ("targets.dedpu.replicas=1", "dedpu"),
        ("targets.dedup.replica=1", "replica"),
        ("postgres.url=mysql://x", "postgres.url"),
        ("events.url=http://x", "events.url"),
        ("targets.dedup.replicas=-1", "replicas"),
        ("defaults.replica=1", "replica"),
        ("image.tga=1", "tga"),
        ("postgres.passwordSecret.nam=x", "nam"),
        ("events.topology.enable=true", "enable"),
        ("events.topology.deliveryLimit=0", "deliveryLimit"),
        ("redis.ulr=x", "ulr"),
        ("classification.llm.modl=x", "modl"),
        ("classification.llm.url=ftp://x", "classification.llm.url"),
        ("classification.lm.url=http://x", "lm"),
        ("dedup.embedder.keySecret.nam=x", "nam"),
        ("tls.secret=x", "secret"),
        ("auth.bearer=x", "bearer"),
        ("migrate.enable=false", "enable"),
        ("serviceAccount.creat=false", "creat"),
        ("metrics.annotation=false", "annotation"),
        ("metrics.podMonitor.enable=true", "enable"),
        ("metrics.podMonitor.interval=often", "interval"),
        ("metrics.prometheusRule.enable=true", "enable"),
        ("targets.dedup.extraVolume[0].name=x", "extraVolume"),
        ("defaults.env.NAME=x", "env"),
        ("targets.dedup.extraContainers[0].image=x", "name"),
        ("migrate.extraContainers[0].name=x", "extraContainers"),
        ("imagePullSecrets[0].nam=x", "nam"),
    ],
)
def test_a_misspelt_or_bad_value_is_refused_by_name(value: str, said: str) -> None:
    sets = [argument for each in (*BASE, value) for argument in ("--set", each)]
    result = helm("template", "w", str(CHART), "--kube-version", "1.30.0", *sets)
    assert result.returncode != 0
    assert said in result.stderr


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (BASE[1:], "postgres.url is required"),
        (BASE[:1], "events.url is required: amqp://"),
        ((BASE[0], "events.url=inprocess:"), "events.url"),
        ((*BASE, "classification.llm.url=http://x/v1"), "classification.llm.model is required"),
        ((*BASE, "tls.caSecret.name=ca"), "tls.secretName is required with tls.caSecret"),
        ((*BASE, "targets.collector.enabled=false"), "config.peers.collector is required"),
    ],
)
def test_what_is_missing_is_told_before_a_pod_starts(values: tuple[str, ...], said: str) -> None:
    sets = [argument for value in values for argument in ("--set", value)]
    result = helm("template", "w", str(CHART), "--kube-version", "1.30.0", *sets)
    assert result.returncode != 0
    assert said in result.stderr


def test_the_helm_of_this_repository_needs_no_kube_version() -> None:
    """tools/install.sh builds it with the version of Kubernetes that it was made for."""
    sets = [argument for value in BASE for argument in ("--set", value)]
    result = helm("template", "w", str(CHART), *sets)
    assert result.returncode == 0, result.stderr


def test_a_changed_configuration_restarts_the_pods() -> None:
    def checksum(values: tuple[str, ...]) -> str:
        pod = of_kind(render(values), "Deployment")[0]["spec"]["template"]
        annotations: dict[str, str] = pod["metadata"]["annotations"]
        return annotations["checksum/config"]

    assert checksum(()) == checksum(())
    assert checksum(()) != checksum(("config.log.level=debug",))
    assert json.loads(of_kind(render(()), "ConfigMap")[0]["data"]["config.json"])
