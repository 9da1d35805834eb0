/** The library's check of values against a JSON Schema, for whichever thread runs it. */
export { CfWorkerJsonSchemaValidator as SchemaChecks } from '@modelcontextprotocol/client/validators/cf-worker'
