"""What a database's schemas consist of: one line a thing, to be compared as a set."""

from __future__ import annotations

from postgres_admin import Database

_OURS = (
    "n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT IN ('information_schema', 'public')"
    " AND c.relname <> 'schema_migrations'"
)
_RELATIONS = "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"

_QUERIES = (
    # Columns: their order is not part of a schema whose statements name them.
    f"""SELECT format('column %s.%s.%s %s %s %s %s default %s', n.nspname, c.relname, a.attname,
        format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'not null' END,
        a.attcollation::regcollation, a.attstorage, pg_get_expr(d.adbin, d.adrelid))
      {_RELATIONS} JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        AND NOT a.attisdropped AND c.relkind IN ('r', 'S', 'v')
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE {_OURS}""",
    f"""SELECT format('relation %s.%s %s %s', n.nspname, c.relname, c.relkind, c.reloptions)
      {_RELATIONS} WHERE {_OURS} AND c.relname NOT LIKE 'schema\\_migrations\\_%'""",
    f"""SELECT format('constraint %s.%s %s %s valid %s', n.nspname, c.relname, k.conname,
        pg_get_constraintdef(k.oid), k.convalidated)
      {_RELATIONS} JOIN pg_constraint k ON k.conrelid = c.oid WHERE {_OURS}""",
    f"""SELECT format('index %s valid %s immediate %s', pg_get_indexdef(i.indexrelid), i.indisvalid,
        i.indimmediate)
      {_RELATIONS} JOIN pg_index i ON i.indrelid = c.oid WHERE {_OURS}""",
    f"""SELECT format('trigger %s', pg_get_triggerdef(t.oid))
      {_RELATIONS} JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal WHERE {_OURS}""",
    """SELECT format('function %s', md5(pg_get_functiondef(p.oid)) || ' ' || p.oid::regprocedure)
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT IN ('information_schema', 'public')""",
)


def catalog(database: Database) -> set[str]:
    lines = "".join(database.run(query) for query in _QUERIES).splitlines()
    assert len(lines) > 500  # of five schemas
    return set(lines)


def tables(database: Database) -> list[str]:
    found = database.run(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN"
        " ('pg_catalog', 'information_schema') AND tablename <> 'schema_migrations' ORDER BY 1"
    )
    return found.split()


def contents(database: Database) -> dict[str, str]:
    """A digest of each table's rows."""
    parts = [
        f"SELECT '{table}', md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), ''))"
        f" FROM {table} t"
        for table in tables(database)
    ]
    rows = database.run(" UNION ALL ".join(parts)).splitlines()
    return dict(row.split("|") for row in rows)
