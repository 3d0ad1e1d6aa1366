import { isObject, parseJson } from '../../base/json.ts'
import { checkHookEvent, type HookEvent, type HookEventKind, type HookManifest } from '../../domain/hooks.ts'
import { capOutput } from '../session-output.ts'

/** A call in our own terms: a tool that the policy knows, and its input. */
export interface NamedCall {
  tool: string
  input: Record<string, unknown>
}

/** What a vendor's translator makes of an event: the fields of a `HookEvent` that differ between vendors, not yet checked. */
export type ReadFields = (given: Record<string, unknown>, kind: HookEventKind) => Record<string, unknown>

/**
 * Reads what a vendor sends, as text or as JSON. Undefined if it is not of the expected form: the caller then refuses the event. An event
 * that the manifest does not name has the kind `unknown`. Fields that we do not know are dropped, so a newer version is read too.
 */
export function readEvent(
  manifest: HookManifest,
  sent: { native: string; stdin: unknown },
  readFields: ReadFields,
): HookEvent | undefined {
  const { native, stdin } = sent
  const given = typeof stdin === 'string' ? parseJson(stdin) : stdin
  if (!isObject(given)) return undefined
  const named = given['hook_event_name'] ?? given['hookName']
  if (typeof named === 'string' && named !== native) return undefined
  const kind = kindOf(manifest, native)
  return checkHookEvent(kind, { ...readFields(given, kind), native, vendor: manifest.vendor })
}

/** Our kind of a vendor's event. */
function kindOf({ events }: HookManifest, native: string): HookEventKind {
  const known = Object.entries(events).find(([, natives]) => natives.includes(native))
  return known ? (known[0] as HookEventKind) : 'unknown'
}

/** The fields that Claude Code, Codex and Gemini CLI send alike. */
export function readCommonFields(given: Record<string, unknown>): Record<string, unknown> {
  return {
    session: given['session_id'],
    cwd: given['cwd'],
    agent_id: given['agent_id'],
    agent_type: given['agent_type'],
    transcript: given['transcript_path'],
    permission_mode: given['permission_mode'],
    call_id: given['tool_use_id'],
    source: given['source'] ?? 'unknown',
    reason: given['reason'] ?? 'unknown',
    model: given['model'],
    again: given['stop_hook_active'] ?? false,
    background: countOthers(given['background_tasks'], given['agent_id']),
  }
}

/** Claude Code lists a subagent that wants to stop as work that still runs. */
function countOthers(tasks: unknown, agent: unknown): number {
  return Array.isArray(tasks) ? tasks.filter(task => !isObject(task) || task['id'] !== agent).length : 0
}

/** The call of an event, from the calls that it stands for. */
export function callFields(name: string, calls: readonly NamedCall[]): Record<string, unknown> {
  const [only] = calls
  return only && calls.length === 1 ? { ...only } : { ...nameUnknown(name, {}), ...(only && { parts: calls }) }
}

/** A call that is judged as the worst it could be. */
export function nameUnknown(name: string, input: Record<string, unknown>): NamedCall {
  return { tool: `unknown:execute:${name}`, input }
}

/** Fields without which a call cannot be judged. */
const JUDGED: Record<string, string> = {
  Bash: 'command',
  Write: 'file_path',
  Edit: 'file_path',
  Read: 'file_path',
  WebFetch: 'url',
  AskUserQuestion: 'questions',
}

/** Names a call by a table of the vendor's tools and of the vendor's fields; what the tables do not name stays as it is. */
export function nameByTable(
  call: { name: string; input: Record<string, unknown> },
  tools: Readonly<Record<string, string>>,
  fields: Readonly<Record<string, string>>,
): NamedCall {
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined
  if (tool === undefined) return nameUnknown(call.name, call.input)
  const renamed = Object.entries(call.input).map(([key, value]) => [
    Object.hasOwn(fields, key) ? fields[key] : key,
    value,
  ])
  const input = Object.fromEntries(renamed) as Record<string, unknown>
  const judged = JUDGED[tool]
  return judged !== undefined && (input[judged] === undefined || input[judged] === '')
    ? nameUnknown(call.name, call.input)
    : { tool, input }
}

/** What a tool returned, as text. */
export function outputText(response: unknown): string {
  if (typeof response === 'string') return capOutput(response)
  if (!isObject(response)) return response === undefined || response === null ? '' : capOutput(JSON.stringify(response))
  const { stdout, stderr } = response
  const said = [stdout, stderr].filter(text => typeof text === 'string' && text !== '')
  return capOutput(typeof stdout === 'string' ? said.join('\n') : JSON.stringify(response))
}

/** What a command wrote to each of its streams, if a response keeps them apart. */
export function readStreams(response: unknown): { stdout: string; stderr: string } | undefined {
  const { stdout, stderr } = isObject(response) ? response : {}
  if (typeof stdout !== 'string' || typeof stderr !== 'string') return undefined
  return { stdout: capOutput(stdout), stderr: capOutput(stderr) }
}

/** The exit code that a tool's text names, if it does. */
export function findExitCode(text: string): number | undefined {
  const [, code] = /(?:^|\n|<shellId: \w+ completed with )exit code:? (-?\d+)/i.exec(text) ?? []
  return code === undefined ? undefined : Number(code)
}
