import { isObject } from '../../base/json.ts'
import { quoteForShell } from '../../base/words.ts'
import type { SessionEvent } from '../../domain/session.ts'
import { capOutput } from '../session-output.ts'
import type { CodexChange, CommandAsk, Item } from './wire.ts'

/** Finished calls are remembered for a while; an agent that makes up ids without end must not fill the memory. */
const MAX_CALLS = 2000
/** Items that only concern Codex's own conversation. Everything else is a call and needs permission. */
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
  requested: boolean
  over: boolean
  allowed: boolean
  /** The model does not wait for the call any more: it runs on in the background, or waits for a person. */
  detached: boolean
}

/** The calls of one session, by the id that Codex uses for each. */
export class CodexCalls {
  readonly #calls = new Map<string, KnownCall>()
  readonly #unsandboxed = new Set<string>()

  /** How many calls the model waits for now. */
  get running(): number {
    return [...this.#calls.values()].filter(call => call.requested && !call.over && !call.detached).length
  }

  add(item: Item): void {
    this.#ensure(item.id).item = item
  }

  item(callId: string): Item | undefined {
    return this.#calls.get(callId)?.item
  }

  /** The call of a server's tool that an ask is about: the ask itself does not name the call. */
  ofServer(server: string, fits: (item: Item) => boolean): Item | undefined {
    for (const { item, requested, over } of this.#calls.values())
      if (item?.type === 'mcpToolCall' && item.server === server && !requested && !over && fits(item)) return item
    return undefined
  }

  /** The request as an event, once for each call. */
  request(callId: string, { tool, input }: CodexNamedCall): SessionEvent[] {
    const call = this.#ensure(callId)
    if (call.requested) return []
    call.requested = true
    return [{ kind: 'tool_request', callId, tool, input }]
  }

  /** How a call ended, once. */
  result(callId: string, { ok, output }: { ok: boolean; output: string }): SessionEvent[] {
    const call = this.#ensure(callId)
    if (call.over) return []
    call.over = true
    call.item = undefined
    return [{ kind: 'tool_result', callId, ok, output: capOutput(output) }]
  }

  /** The end of a call as Codex reports it. A call that was never asked about is emitted as a request first. */
  ended(item: Item): SessionEvent[] {
    if (!isCall(item)) return []
    this.add(item)
    const ok = item.status === 'completed' && (item.exitCode ?? 0) === 0
    return [...this.request(item.id, nameItem(item)), ...this.result(item.id, { ok, output: outputOf(item) })]
  }

  allow(callId: string): void {
    this.#ensure(callId).allowed = true
  }

  /** The call waits for a person; the model does not wait for it. */
  park(callId: string): void {
    this.#ensure(callId).detached = true
  }

  /** Describes a call that ran without our permission; undefined when all is well. */
  unjudged(item: Item): string | undefined {
    if (!isCall(item) || this.#calls.get(item.id)?.allowed || !hasRun(item)) return undefined
    const { tool, input } = nameItem(item)
    return `${tool} ${JSON.stringify(input).slice(0, 200)} (${item.id})`
  }

  /** The model wants this call to run outside of the sandbox. */
  markUnsandboxed(callId: string): void {
    this.#unsandboxed.add(callId)
  }

  isUnsandboxed(callId: string): boolean {
    return this.#unsandboxed.has(callId)
  }

  /** The model has its answers: calls that are not over by now run on in the background. */
  roundOver(): void {
    for (const call of this.#calls.values()) if (call.requested && !call.over) call.detached = true
  }

  /** The turn is over. A call that was left running may end in a later turn. */
  turnOver(): void {
    this.roundOver()
    this.#unsandboxed.clear()
  }

  #ensure(callId: string): KnownCall {
    const known = this.#calls.get(callId)
    if (known) return known
    const created: KnownCall = { item: undefined, requested: false, over: false, allowed: false, detached: false }
    this.#calls.set(callId, created)
    if (this.#calls.size > MAX_CALLS) this.#forgetOldest()
    return created
  }

  #forgetOldest(): void {
    for (const [id, { over }] of this.#calls) if (over) return void this.#calls.delete(id)
  }
}

function isCall({ type }: Item): boolean {
  return !NO_CALLS.has(type)
}

/** A call that was refused, never begun or invalid has not run; a command that failed has run all the same. */
function hasRun({ type, status, exitCode, server, result }: Item): boolean {
  if (type === 'commandExecution')
    return status !== 'declined' && (status === 'completed' || typeof exitCode === 'number')
  // We execute it ourselves, once it is allowed.
  if (type === 'dynamicToolCall') return false
  // Codex's own listing of its servers' resources; no server has any.
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

/** A call in our own terms: a tool that the policy knows, and its input. */
export interface CodexNamedCall {
  tool: string
  input: Record<string, unknown>
}

/** Names a command. A command that would run outside of the sandbox, or that asks for more permissions, is named so that it is judged as such. */
export function nameCommand(ask: CommandAsk, { isUnfenced: isUnsandboxed }: { isUnfenced: boolean }): CodexNamedCall {
  const { kind, command, reason, networkApprovalContext, additionalPermissions } = ask
  const wantsMore = Boolean(networkApprovalContext) || Boolean(additionalPermissions)
  if (kind !== 'command' || !command || wantsMore)
    return {
      tool: `unknown:execute:${wantsMore ? 'permissions' : kind}`,
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
      ...(isUnsandboxed && { dangerouslyDisableSandbox: true }),
    },
  }
}

/** Names the parts of a patch: one call for each change to a file, and each must be allowed. */
export function nameChanges(changes: CodexChange[]): CodexNamedCall[] {
  return changes.flatMap((change): CodexNamedCall[] => {
    const { path: file_path, kind, diff } = change
    if (kind.type === 'add') return [{ tool: 'Write', input: { file_path, content: diff } }]
    if (kind.type === 'delete') return [{ tool: 'Bash', input: { command: `rm -- ${quoteForShell(file_path)}` } }]
    if (kind.type !== 'update') return [{ tool: `unknown:execute:${kind.type}`, input: { file_path, diff } }]
    const [old_string, new_string] = splitDiff(diff)
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

/** Names any other item of Codex, for events and messages. */
function nameItem(item: Item): CodexNamedCall {
  const { type, server, tool, command, changes } = item
  if (type === 'commandExecution' && command) return { tool: 'Bash', input: { command: readScript(command) } }
  const [first] = nameChanges(changes ?? [])
  if (type === 'fileChange' && first) return first
  const input = isObject(item.arguments) ? item.arguments : {}
  if (type === 'mcpToolCall' && server && tool) return { tool: `mcp__${server}__${tool}`, input }
  return { tool: `unknown:execute:${tool ?? type}`, input }
}

/** The old and the new text of a unified diff. */
function splitDiff(diff: string): [string, string] {
  const lines = diff.split('\n').filter(line => /^[ +-]/.test(line))
  const side = (sign: '-' | '+') =>
    lines
      .filter(line => line.startsWith(' ') || line.startsWith(sign))
      .map(line => line.slice(1))
      .join('\n')
  return [side('-'), side('+')]
}

/** Shells whose `-c` takes a script. */
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da|k)?sh$/

/**
 * The script that a command line hands to a shell: Codex reports `/bin/bash -lc 'cat x'`, with its words quoted. A line of another form is
 * returned and judged as it is.
 */
export function readScript(line: string): string {
  const words = splitWords(line)
  const [shell = '', flag = '', script] = words ?? []
  const isScript = words?.length === 3 && SHELL.test(shell) && /^-l?c$/.test(flag)
  return isScript && script !== undefined ? script : line
}

/** Splits a line into words by the quoting rules of a shell; undefined when a quote is not closed. */
function splitWords(line: string): string[] | undefined {
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
    const part =
      char === "'" ? readSingleQuoted(line, at) : char === '"' ? readDoubleQuoted(line, at) : readBare(line, at)
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

function readSingleQuoted(line: string, start: number): Part | undefined {
  const end = line.indexOf("'", start + 1)
  return end === -1 ? undefined : { text: line.slice(start + 1, end), end: end + 1 }
}

function readDoubleQuoted(line: string, start: number): Part | undefined {
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

function readBare(line: string, start: number): Part | undefined {
  if (line.charAt(start) !== '\\') return { text: line.charAt(start), end: start + 1 }
  return start + 1 < line.length ? { text: line.charAt(start + 1), end: start + 2 } : undefined
}
