"""A primary that freezes, a standby that is promoted, and the old primary back without a fence."""

from __future__ import annotations

import time

from check import compare
from leg import Result
from load import Load, goes_on
from postgres_cluster import PostgresCluster
from readers import check_readers
from servers import serving
from winnow_process import connect

LOAD_SECONDS = 5.0  # before the failover, and after the old primary is back


def run() -> Result:
    result = Result("standby")
    cluster = PostgresCluster()
    try:
        with serving(cluster.new_database("failover")) as servers:
            load = Load([each.address for each in servers], "standby")
            try:
                try:
                    fail_over(cluster, load, result)
                except AssertionError as error:  # the counts are wanted all the same
                    result.failures.append(str(error))
                load.end()
                with connect(servers[0].address) as client:
                    query = lambda sql: cluster.standby.query(sql, "failover")  # noqa: E731
                    compare(load, client, query, result)
                for server in servers:
                    result.failures += check_readers(server, load.namespace)
            finally:
                load.end()
    finally:
        cluster.close()
    return result


def fail_over(cluster: PostgresCluster, load: Load, result: Result) -> None:
    goes_on(load, "all services acknowledge writes", LOAD_SECONDS)
    froze = time.monotonic()
    cluster.freeze_primary()
    cluster.promote_standby()
    result.notes.append(
        f"the standby was promoted {time.monotonic() - froze:.1f} s after the freeze"
    )
    goes_on(load, "all services acknowledge writes after the promotion", LOAD_SECONDS)
    cluster.resume_old_primary()
    goes_on(load, "all services acknowledge writes beside the old primary", LOAD_SECONDS)
    goes_on(load, "they still do", LOAD_SECONDS)
