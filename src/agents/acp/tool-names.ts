import { quoteForShell } from '../../base/words.ts'
import type { AgentManifest, ToolFieldSource, ToolNaming } from '../../domain/agent-manifest.ts'
import type { AcpToolCall } from './wire.ts'

/** A call in our own words: a tool that the policy knows, and its input. */
export interface AcpNamedCall {
  tool: string
  input: Record<string, unknown>
}

/**
 * What a call of the agent's is in our own words. One call may touch several files: then it is several, and each must be
 * allowed. What nobody can tell is named so that it is judged as the worst it could be: something that executes.
 */
export function nameCalls(call: AcpToolCall, naming: ToolNaming): AcpNamedCall[] {
  const name = readToolName(call, naming)
  const input = readInput(call)
  if (naming.nameIn === 'native' && name !== undefined) return [{ tool: name, input }]
  const known = name !== undefined && Object.hasOwn(naming.known, name) ? naming.known[name] : undefined
  if (known) {
    const fields = Object.entries(known.input).map(([key, sources]) => [key, firstOf(call, sources)] as const)
    const lacks = fields.some(([key, value]) => value === undefined && JUDGED.includes(key))
    return [lacks ? worst(call, name) : { tool: known.tool, input: Object.fromEntries(fields.filter(isGiven)) }]
  }
  return byKind(call, name)
}

/** Without these nobody can say what a call does. */
const JUDGED = ['command', 'file_path', 'url']

function isGiven([, value]: readonly [string, unknown]): boolean {
  return value !== undefined
}

/** The agent's own name of a tool, where it says one. */
export function readToolName(call: AcpToolCall, { nameIn }: ToolNaming): string | undefined {
  if (nameIn === 'native' || nameIn === 'name') return call.name ?? undefined
  if (nameIn === 'title') return call.title ?? undefined
  return /^([A-Za-z0-9_]+?)(?:__|-)\w/.exec(call.toolCallId)?.[1]
}

function byKind(call: AcpToolCall, name: string | undefined): AcpNamedCall[] {
  const input = readInput(call)
  const paths = pathsOf(call)
  switch (call.kind) {
    case 'execute':
      return typeof input['command'] === 'string'
        ? [{ tool: 'Bash', input: { command: input['command'] } }]
        : [worst(call, name)]
    case 'read':
      return paths.length > 0 ? paths.map(file_path => ({ tool: 'Read', input: { file_path } })) : [worst(call, name)]
    case 'edit':
      return paths.length > 0 ? paths.map(file_path => edit(call, file_path)) : [worst(call, name)]
    case 'delete':
      return paths.length > 0
        ? paths.map(path => ({ tool: 'Bash', input: { command: `rm -- ${quoteForShell(path)}` } }))
        : [worst(call, name)]
    case 'fetch':
      return typeof input['url'] === 'string'
        ? [{ tool: 'WebFetch', input: { url: input['url'] } }]
        : [worst(call, name)]
    default:
      return [worst(call, name)]
  }
}

function edit(call: AcpToolCall, file_path: string): AcpNamedCall {
  const diff = (call.content ?? []).find(one => one.type === 'diff' && one.path === file_path)
  if (!diff?.oldText) return { tool: 'Write', input: { file_path, content: diff?.newText ?? '' } }
  return { tool: 'Edit', input: { file_path, old_string: diff.oldText, new_string: diff.newText ?? '' } }
}

/** Everything that is known of it goes along, for whoever decides. */
function worst(call: AcpToolCall, name: string | undefined): AcpNamedCall {
  const { title, kind, locations } = call
  return {
    tool: `unknown:execute:${name ?? kind ?? 'call'}`,
    input: {
      ...readInput(call),
      ...(title && { title }),
      ...(kind && { kind }),
      ...(locations && { paths: locations.map(one => one.path) }),
    },
  }
}

function pathsOf(call: AcpToolCall): string[] {
  const diffs = (call.content ?? []).flatMap(one => (one.type === 'diff' && one.path ? [one.path] : []))
  return [...new Set([...diffs, ...(call.locations ?? []).map(one => one.path)])]
}

export function readInput({ rawInput }: AcpToolCall): Record<string, unknown> {
  const isObject = typeof rawInput === 'object' && rawInput !== null && !Array.isArray(rawInput)
  return isObject ? (rawInput as Record<string, unknown>) : {}
}

function firstOf(call: AcpToolCall, sources: ToolFieldSource[]): unknown {
  for (const source of sources) {
    const found = take(call, source)
    if (found !== undefined && found !== null && found !== '') return found
  }
  return undefined
}

function take(call: AcpToolCall, source: ToolFieldSource): unknown {
  const diff = (call.content ?? []).find(one => one.type === 'diff')
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

/** A call at its end, and what is known of it. */
export interface EndedCall {
  kind: string | undefined
  title: string | undefined
  /** What it was in our own words. */
  named: AcpNamedCall[]
  ok: boolean
  output: string
  asked: boolean
  allowed: boolean
  /** A refusal beside it, or a stop of ours, took it down before it came to be asked. */
  fallen: boolean
}

/**
 * The second look: whether a call that ended ran without our yes. Of an agent that asks about everything that is every call which
 * succeeded without one, and every call which failed without having been asked about, unless the agent gave it up before it came to
 * that; of one that asks about writes, what wrote or ran a command that does more than read.
 */
export function hasRunUnjudged(call: EndedCall, { hold, tools }: Pick<AgentManifest, 'hold' | 'tools'>): boolean {
  if (hold === 'writes') return call.ok && !call.allowed && writes(call)
  if (hold !== 'every-call') return false
  if (call.kind === 'other' && (tools.inert ?? []).includes(call.title ?? '')) return false
  if (call.ok) return !call.allowed
  if (call.asked || call.fallen) return false
  const { kinds = [], saying = [] } = tools.failsUnasked ?? {}
  return !kinds.includes(call.kind ?? '') && !saying.some(form => new RegExp(form).test(call.output))
}

const WRITING = ['edit', 'delete', 'move']

function writes({ kind, named }: EndedCall): boolean {
  if (WRITING.includes(kind ?? '') || named.some(({ tool }) => tool === 'Write' || tool === 'Edit')) return true
  const commands = named.filter(({ tool }) => tool === 'Bash')
  if (kind === 'execute' && commands.length === 0) return true
  return commands.some(({ input }) => !isReadOnlyCommand(String(input['command'] ?? '')))
}

/** Programs that print and write nothing, whatever they are given; those with a way to write are in `UNLESS` too. */
const READERS = new Set(
  `cat cd cut echo expr false grep head id ls nl paste pwd rev seq stat tail tr true uname uniq wc which whoami numfmt tac
  base64 find rg sed git`.split(/\s+/),
)
/** With one of these words they do more than read. */
const UNLESS: Record<string, RegExp> = {
  base64: /^(-o|--output)/,
  find: /^-(exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)$/,
  rg: /^(--pre|--hostname-bin|--search-zip|-z)/,
}
const GIT_READS = new Set(['status', 'log', 'diff', 'show', 'branch'])
const GIT_WRITES =
  /^(--output|--ext-diff|--textconv|--exec|-c$|-C$|--git-dir|--work-tree|-[dDmMcCf]$|--(delete|move|copy|force|edit-description|set-upstream-to|unset-upstream))/

/**
 * Whether a line of a shell is made of nothing but programs that read. It only decides whether a command that nobody was asked about is
 * taken for a breach: in doubt it is none of those.
 */
export function isReadOnlyCommand(line: string): boolean {
  const bare = line.replaceAll(/'[^']*'/g, 'q').replaceAll(/"[^"$`\\]*"/g, 'q')
  if (/[<>()`$"'\\]/.test(bare)) return false
  return bare.split(/\|\||&&|[|;\n]/).every(part => !part.includes('&') && reads(part.trim()))
}

function reads(command: string): boolean {
  if (command === '') return true
  const [program = '', ...words] = command.split(/\s+/)
  if (!READERS.has(program) || words.some(word => UNLESS[program]?.test(word))) return false
  if (program === 'sed') return words[0] === '-n' && words.length <= 3 && /^(q|\d+(,\d+)?p)$/.test(words[1] ?? '')
  if (program === 'git') return GIT_READS.has(words[0] ?? '') && !words.some(word => GIT_WRITES.test(word))
  return true
}
