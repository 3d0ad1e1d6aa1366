import { quoteForShell } from '../../base/words.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { CodexChange, CommandAsk, Item } from './wire.ts'

/** Longer than anything a person reads; a log dumped by a tool must not be stored whole. */
const OUTPUT_CHARS = 20_000
/** Calls that are over are remembered for a while; one that makes up ids without end is not followed for ever. */
const MAX_CALLS = 2000
/** What Codex says, hears and does with nothing but its own conversation. Everything else is a call and needs a yes. */
const NO_CALLS = new Set([
  'userMessage',
  'hookPrompt',
  'agentMessage',
  'functionCallOutput',
  'plan',
  'reasoning',
  'contextCompaction',
  'enteredReviewMode',
  'exitedReviewMode',
  'sleep',
])

interface KnownCall {
  item: Item | undefined
  told: boolean
  over: boolean
  allowed: boolean
  /** The model does not wait for it any more: it runs on beside the conversation, or waits for a person. */
  left: boolean
}

/** The calls of one session, by the id under which Codex tells and asks of each. */
export class CodexCalls {
  readonly #calls = new Map<string, KnownCall>()
  readonly #unfenced = new Set<string>()

  /** How many calls the model waits for now. */
  get running(): number {
    return [...this.#calls.values()].filter(one => one.told && !one.over && !one.left).length
  }

  add(item: Item): void {
    this.#known(item.id).item = item
  }

  item(callId: string): Item | undefined {
    return this.#calls.get(callId)?.item
  }

  /** A call of a server's tool that is about to be asked: the ask itself does not say which it is. */
  ofServer(server: string, fits: (item: Item) => boolean): Item | undefined {
    for (const { item, told, over } of this.#calls.values())
      if (item?.type === 'mcpToolCall' && item.server === server && !told && !over && fits(item)) return item
    return undefined
  }

  /** The request as an event, once for each call. */
  request(callId: string, { tool, input }: CodexNamedCall): SessionEvent[] {
    const known = this.#known(callId)
    if (known.told) return []
    known.told = true
    return [{ kind: 'tool_request', callId, tool, input }]
  }

  /** How a call ended, once. */
  result(callId: string, { ok, output }: { ok: boolean; output: string }): SessionEvent[] {
    const known = this.#known(callId)
    if (known.over) return []
    known.over = true
    known.item = undefined
    return [{ kind: 'tool_result', callId, ok, output: cap(output) }]
  }

  /** The end of a call as Codex tells it; one that was never asked is told as a request first. */
  ended(item: Item): SessionEvent[] {
    if (!isCall(item)) return []
    this.add(item)
    const ok = item.status === 'completed' && (item.exitCode ?? 0) === 0
    return [...this.request(item.id, nameItem(item)), ...this.result(item.id, { ok, output: outputOf(item) })]
  }

  allow(callId: string): void {
    this.#known(callId).allowed = true
  }

  /** It waits for a person, and not for the model. */
  park(callId: string): void {
    this.#known(callId).left = true
  }

  /** What ran without our yes, in words; undefined where all is well. */
  unjudged(item: Item): string | undefined {
    if (!isCall(item) || this.#calls.get(item.id)?.allowed || !hasRun(item)) return undefined
    const { tool, input } = nameItem(item)
    return `${tool} ${JSON.stringify(input).slice(0, 200)} (${item.id})`
  }

  /** The model wants it to run outside of the sandbox. */
  unfence(callId: string): void {
    this.#unfenced.add(callId)
  }

  isUnfenced(callId: string): boolean {
    return this.#unfenced.has(callId)
  }

  /** The model has its answers: what is not over by now runs on beside it. */
  roundOver(): void {
    for (const known of this.#calls.values()) if (known.told && !known.over) known.left = true
  }

  /** What was left running in a turn may end in a later one. */
  turnOver(): void {
    this.roundOver()
    this.#unfenced.clear()
  }

  #known(callId: string): KnownCall {
    const found = this.#calls.get(callId)
    if (found) return found
    const made: KnownCall = { item: undefined, told: false, over: false, allowed: false, left: false }
    this.#calls.set(callId, made)
    if (this.#calls.size > MAX_CALLS) this.#forgetOldest()
    return made
  }

  #forgetOldest(): void {
    for (const [id, { over }] of this.#calls) if (over) return void this.#calls.delete(id)
  }
}

function isCall({ type }: Item): boolean {
  return !NO_CALLS.has(type)
}

/** Refused, never begun and wrong from the start leave nothing behind; a command that failed has run all the same. */
function hasRun({ type, status, exitCode, server, result }: Item): boolean {
  if (type === 'commandExecution')
    return status !== 'declined' && (status === 'completed' || typeof exitCode === 'number')
  // Done by us, when it was allowed.
  if (type === 'dynamicToolCall') return false
  // Codex's own list of the resources of its servers; none is given any.
  if (type === 'mcpToolCall' && server === 'codex') return false
  if (type === 'mcpToolCall') return status === 'completed' || Boolean(result)
  return status === 'completed' || status === undefined || status === null
}

function outputOf({ aggregatedOutput, changes, result, error, contentItems }: Item): string {
  if (aggregatedOutput) return aggregatedOutput
  if (error) return error.message
  if (changes) return changes.map(({ path }) => `[changed ${path}]`).join('\n')
  if (contentItems) return contentItems.map(({ text }) => text ?? '').join('\n')
  return result ? JSON.stringify(result) : ''
}

function cap(text: string): string {
  if (text.length <= OUTPUT_CHARS) return text
  return `${text.slice(0, OUTPUT_CHARS)}\n… (${text.length - OUTPUT_CHARS} more characters)`
}

/** A call in our own words: a tool that the policy knows, and its input. */
export interface CodexNamedCall {
  tool: string
  input: Record<string, unknown>
}

/** A command. One that would run outside of the sandbox, or that asks for more than to run, is named so that it is judged as such. */
export function nameCommand(ask: CommandAsk, { isUnfenced }: { isUnfenced: boolean }): CodexNamedCall {
  const { kind, command, reason, networkApprovalContext, additionalPermissions } = ask
  const isMore = Boolean(networkApprovalContext) || Boolean(additionalPermissions)
  if (kind !== 'command' || !command || isMore)
    return {
      tool: `unknown:execute:${isMore ? 'permissions' : kind}`,
      input: {
        ...(command && { command }),
        ...(reason && { reason }),
        ...(networkApprovalContext ? { networkApprovalContext } : {}),
      },
    }
  return {
    tool: 'Bash',
    input: {
      command: readScript(command),
      ...(reason && { description: reason }),
      ...(isUnfenced && { dangerouslyDisableSandbox: true }),
    },
  }
}

/** A patch: one call for each thing that it does to a file, and each must be allowed. */
export function nameChanges(changes: CodexChange[]): CodexNamedCall[] {
  return changes.flatMap((change): CodexNamedCall[] => {
    const { path: file_path, kind, diff } = change
    if (kind.type === 'add') return [{ tool: 'Write', input: { file_path, content: diff } }]
    if (kind.type === 'delete') return [{ tool: 'Bash', input: { command: `rm -- ${quoteForShell(file_path)}` } }]
    if (kind.type !== 'update') return [{ tool: `unknown:execute:${kind.type}`, input: { file_path, diff } }]
    const [old_string, new_string] = sides(diff)
    const edit = { tool: 'Edit', input: { file_path, old_string, new_string } }
    const to = kind.move_path
    if (!to) return [edit]
    const command = `mv -- ${quoteForShell(file_path)} ${quoteForShell(to)}`
    return [
      edit,
      { tool: 'Write', input: { file_path: to, content: new_string } },
      { tool: 'Bash', input: { command } },
    ]
  })
}

/** Any other thing that Codex did, for whoever hears of it. */
function nameItem(item: Item): CodexNamedCall {
  const { type, server, tool, command, changes } = item
  if (type === 'commandExecution' && command) return { tool: 'Bash', input: { command: readScript(command) } }
  const [first] = nameChanges(changes ?? [])
  if (type === 'fileChange' && first) return first
  const input = isObject(item.arguments) ? item.arguments : {}
  if (type === 'mcpToolCall' && server && tool) return { tool: `mcp__${server}__${tool}`, input }
  return { tool: `unknown:execute:${tool ?? type}`, input }
}

/** What stood there and what will, of a unified diff. */
function sides(diff: string): [string, string] {
  const lines = diff.split('\n').filter(line => /^[ +-]/.test(line))
  const side = (sign: '-' | '+') =>
    lines
      .filter(line => line.startsWith(' ') || line.startsWith(sign))
      .map(line => line.slice(1))
      .join('\n')
  return [side('-'), side('+')]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Shells whose `-c` takes a script that is the command. */
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da|k)?sh$/

/**
 * The script that a command line hands to a shell: Codex tells `/bin/bash -lc 'cat x'`, its words quoted. What is not of this form is the
 * command itself, judged as it stands.
 */
export function readScript(line: string): string {
  const words = wordsOf(line)
  const [shell = '', flag = '', script] = words ?? []
  const isScript = words?.length === 3 && SHELL.test(shell) && /^-l?c$/.test(flag)
  return isScript && script !== undefined ? script : line
}

/** The words of a line whose quotes are those of a shell; undefined where they do not close. */
function wordsOf(line: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < line.length; ) {
    const char = line.charAt(at)
    if (/\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
      at++
      continue
    }
    const part = char === "'" ? single(line, at) : char === '"' ? double(line, at) : bare(line, at)
    if (!part) return undefined
    word = (word ?? '') + part.text
    at = part.end
  }
  return word === undefined ? words : [...words, word]
}

interface Part {
  text: string
  end: number
}

function single(line: string, start: number): Part | undefined {
  const end = line.indexOf("'", start + 1)
  return end === -1 ? undefined : { text: line.slice(start + 1, end), end: end + 1 }
}

function double(line: string, start: number): Part | undefined {
  let text = ''
  for (let at = start + 1; at < line.length; at++) {
    const char = line.charAt(at)
    if (char === '"') return { text, end: at + 1 }
    const next = line.charAt(at + 1)
    if (char === '\\' && '$`"\\'.includes(next) && next !== '') {
      text += next
      at++
    } else text += char
  }
  return undefined
}

function bare(line: string, start: number): Part | undefined {
  if (line.charAt(start) !== '\\') return { text: line.charAt(start), end: start + 1 }
  return start + 1 < line.length ? { text: line.charAt(start + 1), end: start + 2 } : undefined
}
