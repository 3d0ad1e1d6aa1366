import { isObject } from '../../base/json.ts'
import { quoteForShell } from '../../base/words.ts'
import type { AgentManifest, ToolFieldSource, ToolNaming } from '../../domain/agent-manifest.ts'
import type { AcpToolCall } from './wire.ts'

/** A call in our own terms: a tool that the policy knows, and its input. */
export interface AcpNamedCall {
  tool: string
  input: Record<string, unknown>
}

/**
 * Translates a call of the agent into our own terms. A call that touches several files becomes several calls, and each must be
 * allowed. A call that is not understood is named so that it is judged as the worst it could be: something that executes.
 */
export function nameCalls(call: AcpToolCall, naming: ToolNaming): AcpNamedCall[] {
  const name = readToolName(call, naming)
  const input = readInput(call)
  if (naming.nameIn === 'native' && name !== undefined) return [{ tool: name, input }]
  const known = name !== undefined && Object.hasOwn(naming.known, name) ? naming.known[name] : undefined
  if (known) {
    const fields = Object.entries(known.input).map(([key, sources]) => [key, readFirst(call, sources)] as const)
    const isIncomplete = fields.some(([key, value]) => value === undefined && JUDGED.includes(key))
    return [
      isIncomplete ? nameUnknown(call, name) : { tool: known.tool, input: Object.fromEntries(fields.filter(isGiven)) },
    ]
  }
  return nameByKind(call, name)
}

/** Fields without which a call cannot be judged. */
const JUDGED = ['command', 'file_path', 'url']

function isGiven([, value]: readonly [string, unknown]): boolean {
  return value !== undefined
}

/** The agent's own name of a tool, if it gives one. */
export function readToolName(call: AcpToolCall, { nameIn }: ToolNaming): string | undefined {
  if (nameIn === 'native' || nameIn === 'name') return call.name ?? undefined
  if (nameIn === 'title') return call.title ?? undefined
  return /^([A-Za-z0-9_]+?)(?:__|-)\w/.exec(call.toolCallId)?.[1]
}

function nameByKind(call: AcpToolCall, name: string | undefined): AcpNamedCall[] {
  const input = readInput(call)
  const paths = pathsOf(call)
  switch (call.kind) {
    case 'execute':
      return typeof input['command'] === 'string'
        ? [{ tool: 'Bash', input: { command: input['command'] } }]
        : [nameUnknown(call, name)]
    case 'read':
      return paths.length > 0
        ? paths.map(file_path => ({ tool: 'Read', input: { file_path } }))
        : [nameUnknown(call, name)]
    case 'edit':
      return paths.length > 0 ? paths.map(file_path => nameEdit(call, file_path)) : [nameUnknown(call, name)]
    case 'delete':
      return paths.length > 0
        ? paths.map(path => ({ tool: 'Bash', input: { command: `rm -- ${quoteForShell(path)}` } }))
        : [nameUnknown(call, name)]
    case 'fetch':
      return typeof input['url'] === 'string'
        ? [{ tool: 'WebFetch', input: { url: input['url'] } }]
        : [nameUnknown(call, name)]
    default:
      return [nameUnknown(call, name)]
  }
}

function nameEdit(call: AcpToolCall, file_path: string): AcpNamedCall {
  const diff = (call.content ?? []).find(part => part.type === 'diff' && part.path === file_path)
  if (!diff?.oldText) return { tool: 'Write', input: { file_path, content: diff?.newText ?? '' } }
  return { tool: 'Edit', input: { file_path, old_string: diff.oldText, new_string: diff.newText ?? '' } }
}

/** A call that is judged as the worst, with everything that is known of it for the decision. */
function nameUnknown(call: AcpToolCall, name: string | undefined): AcpNamedCall {
  const { title, kind, locations } = call
  return {
    tool: `unknown:execute:${name ?? kind ?? 'call'}`,
    input: {
      ...readInput(call),
      ...(title && { title }),
      ...(kind && { kind }),
      ...(locations && { paths: locations.map(({ path }) => path) }),
    },
  }
}

function pathsOf(call: AcpToolCall): string[] {
  const diffs = (call.content ?? []).flatMap(part => (part.type === 'diff' && part.path ? [part.path] : []))
  return [...new Set([...diffs, ...(call.locations ?? []).map(({ path }) => path)])]
}

export function readInput({ rawInput }: AcpToolCall): Record<string, unknown> {
  return isObject(rawInput) ? rawInput : {}
}

function readFirst(call: AcpToolCall, sources: ToolFieldSource[]): unknown {
  for (const source of sources) {
    const value = readField(call, source)
    if (value !== undefined && value !== null && value !== '') return value
  }
  return undefined
}

function readField(call: AcpToolCall, source: ToolFieldSource): unknown {
  const diff = (call.content ?? []).find(part => part.type === 'diff')
  switch (source) {
    case 'title':
      return call.title
    case 'location':
      return call.locations?.[0]?.path
    case 'diff.path':
      return diff?.path
    case 'diff.old':
      return diff?.oldText
    case 'diff.new':
      return diff?.newText
    default:
      return readInput(call)[source.slice('input.'.length)]
  }
}

/** A call that has ended, and what is known of it. */
export interface EndedCall {
  kind: string | undefined
  title: string | undefined
  /** The call in our own terms. */
  named: AcpNamedCall[]
  ok: boolean
  output: string
  asked: boolean
  allowed: boolean
  /** A refusal of another call, or a stop of ours, ended it before it was asked about. */
  excused: boolean
}

/**
 * The second check: whether a call that ended ran without our permission. For an agent that asks about everything, that is every call
 * that succeeded without permission, and every call that failed without an ask, unless the agent gave it up before it could ask. For an
 * agent that asks only about writes, it is a call that wrote, or ran a command that does more than read.
 */
export function hasRunUnjudged(call: EndedCall, { hold, tools }: Pick<AgentManifest, 'hold' | 'tools'>): boolean {
  if (hold === 'writes') return call.ok && !call.allowed && isWriting(call)
  if (hold !== 'every-call') return false
  if (call.kind === 'other' && (tools.inert ?? []).includes(call.title ?? '')) return false
  if (call.ok) return !call.allowed
  if (call.asked || call.excused) return false
  const { kinds = [], saying = [] } = tools.failsUnasked ?? {}
  return !kinds.includes(call.kind ?? '') && !saying.some(form => new RegExp(form).test(call.output))
}

const WRITING = ['edit', 'delete', 'move']

function isWriting({ kind, named }: EndedCall): boolean {
  if (WRITING.includes(kind ?? '') || named.some(({ tool }) => tool === 'Write' || tool === 'Edit')) return true
  const commands = named.filter(({ tool }) => tool === 'Bash')
  if (kind === 'execute' && commands.length === 0) return true
  return commands.some(({ input }) => !isReadOnlyCommand(String(input['command'] ?? '')))
}

/** Programs that only print, whatever their arguments; those that can write or execute with some arguments are also in `UNLESS`. */
const READERS = new Set(
  `cat cd cut echo expr false grep head id ls nl paste pwd rev seq stat tail tr true uname uniq wc which whoami numfmt tac
  base64 find rg sed git`.split(/\s+/),
)
/** With one of these arguments they do more than read. */
const UNLESS: Record<string, RegExp> = {
  base64: /^(-o|--output)/,
  find: /^-(exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)$/,
  rg: /^(--pre|--hostname-bin|--search-zip|-z)/,
}
const GIT_READS = new Set(['status', 'log', 'diff', 'show', 'branch'])
const GIT_WRITES =
  /^(--output|--ext-diff|--textconv|--exec|-c$|-C$|--git-dir|--work-tree|-[dDmMcCf]$|--(delete|move|copy|force|edit-description|set-upstream-to|unset-upstream))/

/**
 * Whether a shell line consists only of programs that read. This only decides whether a command that nobody was asked about counts as a
 * breach; in doubt the line does not count as reading.
 */
export function isReadOnlyCommand(line: string): boolean {
  const unquoted = line.replaceAll(/'[^']*'/g, 'q').replaceAll(/"[^"$`\\]*"/g, 'q')
  if (/[<>()`$"'\\]/.test(unquoted)) return false
  return unquoted.split(/\|\||&&|[|;\n]/).every(part => !part.includes('&') && isReading(part.trim()))
}

function isReading(command: string): boolean {
  if (command === '') return true
  const [program = '', ...words] = command.split(/\s+/)
  if (!READERS.has(program) || words.some(word => UNLESS[program]?.test(word))) return false
  if (program === 'sed') return words[0] === '-n' && words.length <= 3 && /^(q|\d+(,\d+)?p)$/.test(words[1] ?? '')
  if (program === 'git') return GIT_READS.has(words[0] ?? '') && !words.some(word => GIT_WRITES.test(word))
  return true
}
