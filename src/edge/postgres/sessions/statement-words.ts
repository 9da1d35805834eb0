/**
 * Words that may stand in front of a parenthesis in a statement without leaving anything behind in the session that
 * nobody can see: the language's own, types, and functions of Postgres that keep nothing, or keep what `session-state.ts` finds.
 */

const language = `
  all and any array as between by cast check column columns conflict cube default distinct do else end except exclude exists
  extract filter following foreign from grouping having if in include index insert intersect into is join key lateral like
  limit materialized match matched not nothing nulls of offset on only operator or order over overlaps overlay partition position
  preceding primary range recursive references returning row rows select set sets similar some substring symmetric table
  tablesample then to trim treat union unique update using values view when where window with within btree gin gist brin hash
  spgist rollup ilike delete truncate copy analyze explain vacuum options storage generated identity always stored collate
  interval array_agg xmlelement xmlforest format costs buffers verbose timing header delimiter csv null quote escape force_quote
`
const types = `
  bit bpchar char character dec decimal double float int4 int8 integer numeric time timestamp timestamptz timetz varbit
  varchar varying text boolean bigint smallint real bytea name oid regclass regtype regproc regnamespace uuid json jsonb date
`
const functions = `
  abs acos acosd acosh age area array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position
  array_positions array_prepend array_remove array_replace array_sample array_shuffle array_to_json array_to_string array_to_tsvector
  array_upper ascii asin asind asinh atan atan2 atan2d atand atanh avg bit_and bit_count bit_length bit_or bit_xor bool_and
  bool_or bound_box box broadcast btrim cardinality cbrt ceil ceiling center char_length character_length chr circle
  clock_timestamp coalesce col_description concat concat_ws convert convert_from convert_to corr cos cosd cosh cot cotd count
  covar_pop covar_samp crc32 crc32c cume_dist current_catalog current_database current_query current_schema current_schemas
  current_setting currval date_add date_bin date_part date_subtract date_trunc decode degrees dense_rank diagonal diameter div
  encode enum_first enum_last enum_range erf erfc every exp factorial family first_value floor format_type gcd gen_random_uuid
  generate_series generate_subscripts get_bit get_byte get_current_ts_config greatest has_any_column_privilege has_column_privilege
  has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege has_parameter_privilege
  has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege has_tablespace_privilege
  has_type_privilege height host hostmask inet_merge inet_same_family initcap isclosed isempty isfinite isopen json_agg
  json_array json_array_elements json_array_elements_text json_array_length json_arrayagg json_build_array json_build_object
  json_each json_each_text json_exists json_extract_path json_extract_path_text json_object json_object_agg json_object_keys
  json_objectagg json_populate_record json_populate_recordset json_query json_scalar json_serialize json_strip_nulls json_table
  json_to_record json_to_recordset json_typeof json_value jsonb_agg jsonb_array_elements jsonb_array_elements_text
  jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text
  jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query
  jsonb_path_query_array jsonb_path_query_first jsonb_populate_record jsonb_populate_recordset jsonb_pretty jsonb_set
  jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof justify_days justify_hours justify_interval
  lag last_value lastval lcm lead least left length line ln localtime localtimestamp log log10 lower lower_inc lower_inf lpad
  lseg ltrim make_date make_interval make_time make_timestamp make_timestamptz masklen max md5 merge_action min min_scale mod
  mode multirange netmask network nextval normalize now npoints nth_value ntile nullif num_nonnulls num_nulls numnode
  obj_description octet_length parse_ident path pclose percent_rank percentile_cont percentile_disc pg_advisory_lock
  pg_advisory_lock_shared pg_advisory_unlock pg_advisory_unlock_all pg_advisory_unlock_shared pg_advisory_xact_lock
  pg_advisory_xact_lock_shared pg_blocking_pids pg_cancel_backend pg_char_to_encoding pg_client_encoding pg_collation_for
  pg_collation_is_visible pg_column_compression pg_column_size pg_conf_load_time pg_conversion_is_visible pg_current_wal_lsn
  pg_current_xact_id pg_current_xact_id_if_assigned pg_database_size pg_encoding_to_char pg_function_is_visible
  pg_get_constraintdef pg_get_expr pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result
  pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_partition_constraintdef pg_get_partkeydef pg_get_ruledef
  pg_get_serial_sequence pg_get_statisticsobjdef pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_has_role
  pg_index_column_has_property pg_indexes_size pg_is_in_recovery pg_is_other_temp_schema pg_listening_channels pg_my_temp_schema
  pg_notify pg_opclass_is_visible pg_operator_is_visible pg_options_to_table pg_partition_ancestors pg_partition_root
  pg_partition_tree pg_postmaster_start_time pg_relation_filenode pg_relation_filepath pg_relation_is_updatable
  pg_relation_size pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_sequence_parameters pg_size_bytes pg_size_pretty
  pg_sleep pg_sleep_for pg_sleep_until pg_snapshot_xip pg_snapshot_xmax pg_snapshot_xmin pg_stat_get_activity
  pg_statistics_obj_is_visible pg_table_is_visible pg_table_size pg_tablespace_location pg_tablespace_size
  pg_terminate_backend pg_total_relation_size pg_trigger_depth pg_try_advisory_lock pg_try_advisory_lock_shared
  pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared pg_ts_config_is_visible pg_type_is_visible pg_typeof
  pg_visible_in_snapshot pg_wal_lsn_diff pg_xact_status phraseto_tsquery pi plainto_tsquery point polygon popen power
  quote_ident quote_literal quote_nullable radians radius random random_normal range_agg range_intersect_agg rank regexp_count
  regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr
  regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right
  round row_number row_security_active row_to_json rpad rtrim scale session_user set_bit set_byte set_masklen setweight sha224
  sha256 sha384 sha512 shobj_description sign sin sind sinh slope split_part sqrt starts_with statement_timestamp stddev
  stddev_pop stddev_samp string_agg string_to_array string_to_table strip strpos substr sum tan tand tanh timeofday timezone
  to_ascii to_bin to_char to_date to_hex to_json to_jsonb to_number to_oct to_regclass to_regcollation to_regnamespace
  to_regoper to_regoperator to_regproc to_regprocedure to_regrole to_regtype to_timestamp to_tsquery to_tsvector
  transaction_timestamp translate trim_array trim_scale trunc ts_delete ts_filter ts_headline ts_lexize ts_rank ts_rank_cd
  ts_rewrite tsquery_phrase tsvector_to_array txid_current txid_current_if_assigned txid_current_snapshot txid_snapshot_xip
  txid_snapshot_xmax txid_snapshot_xmin txid_status txid_visible_in_snapshot unistr unnest upper upper_inc upper_inf
  user var_pop var_samp variance version websearch_to_tsquery width width_bucket xmlagg xmlcomment xmlconcat xmlparse xmlpi
  xmlroot xmlserialize xpath xpath_exists daterange int4range int8range numrange tsrange tstzrange datemultirange
  int4multirange int8multirange nummultirange tsmultirange tstzmultirange
`

/** Berth's own, which read what was written for the session; its schema belongs to nobody who could change them. */
const claims = 'auth.claims auth.user_id auth.role'

/** What may stand in front of a parenthesis. Lower case. */
export const harmlessWords: ReadonlySet<string> = new Set(
  [language, types, functions, claims].flatMap((list) => list.split(/\s+/)),
)

/**
 * What leaves something behind that is not found by asking the server, but that `DISCARD ALL` removes: a client that has
 * called one of these keeps its backend, which others may have after it.
 */
export const keepingWords: ReadonlySet<string> = new Set(['setval', 'pg_backend_pid'])

/** With what a statement begins that leaves nothing behind, or only what is found by asking the server. Lower case. */
export const harmlessBeginnings: ReadonlySet<string> = new Set(
  `abort alter analyze begin checkpoint close cluster comment commit copy create deallocate declare delete discard drop end
  execute explain fetch grant import insert listen lock merge move notify prepare reassign refresh reindex release reset
  revoke rollback savepoint security select set show start table truncate unlisten update vacuum values with`.split(
    /\s+/,
  ),
)
