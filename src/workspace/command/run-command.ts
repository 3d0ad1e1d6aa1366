import { once } from 'node:events'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import { secretId } from '../../base/ids.ts'
import type { GuardedChild, ProcessGuard } from '../../base/process/guardian.ts'
import type { Isolation } from '../../base/process/isolation.ts'
import { MarkerFiles, sessionMarker } from '../../base/process/marker.ts'
import { redactText } from '../../base/redact.ts'

/** How commands of a project are started. */
export interface CommandRunner {
  guard: ProcessGuard
  isolation?: Isolation | undefined
  /** Where the next daemon finds what this one leaves behind. Without it the guardian alone sees to it. */
  markers?: MarkerFiles | undefined
}

export interface ProjectCommandRun {
  /** Text for `sh -c`. */
  command: string
  directory: string
  /** All that it sees. */
  env: Record<string, string>
  timeoutMs: number
  signal: AbortSignal
  /** Each whole line of what it prints, without colours, as long as it does not print without end. */
  onLine?: ((line: string) => void) | undefined
}

/** How a command ended: it said so itself, something killed it, its time was up, we were told to stop, it never began. */
export type CommandEnd = 'exited' | 'killed' | 'timed_out' | 'aborted' | 'not_started'

export interface CommandOutcome {
  end: CommandEnd
  /** Null unless it exited by itself. */
  exit: number | null
  /** The signal that killed it. */
  killedBy: string | null
  durationMs: number
  /** Beginning and end of what it printed, both streams, with secrets taken out. */
  output: string
  /** Bytes that it printed. */
  printed: number
  /** Lines were not told to `onLine` from some point on. */
  isTooLong: boolean
}

/** A command that was asked to end gets this long before it and all it started are killed. */
const GRACE_MS = 2_000
/** What is still in the pipes when everything is dead comes at once; who holds them beyond that is not waited for. */
const DRAIN_MS = 1_000
/** More is not read line by line: at this length no list of tests is told any more. */
const MOST_LINES_BYTES = 64_000_000
const LONGEST_LINE = 16_000

/**
 * Runs one command of a project, with its own group of processes, nothing to read and a bounded environment. However it ends,
 * nothing that it started is alive afterwards. It does not throw: what goes wrong is an outcome.
 */
export async function runCommand(
  run: ProjectCommandRun,
  { guard, isolation = 'auto', markers }: CommandRunner,
): Promise<CommandOutcome> {
  const began = performance.now()
  const kept = new KeptOutput()
  const lines = new Lines(run.onLine)
  const end = (how: Pick<CommandOutcome, 'end' | 'exit' | 'killedBy'>, more = ''): CommandOutcome => ({
    ...how,
    durationMs: Math.round(performance.now() - began),
    output: redactText(`${kept.text()}${more}`, secretsIn(run.env)),
    printed: kept.bytes,
    isTooLong: lines.isTooLong,
  })
  if (run.signal.aborted) return end({ end: 'aborted', exit: null, killedBy: null })
  const marker = sessionMarker(secretId())
  markers?.note(marker.value)
  try {
    await using child = guard.spawn(
      { command: '/bin/sh', args: ['-c', run.command], env: run.env, cwd: run.directory, marker },
      isolation,
    )
    child.stdin.on('error', () => undefined).end() // it may be gone before it was told that there is nothing to read
    for (const stream of [child.stdout, child.stderr]) {
      const part = lines.open()
      stream.on('data', (chunk: Buffer) => {
        kept.add(chunk)
        part.add(chunk)
      })
    }
    const why = await ending(child, run)
    await child.end()
    await drained(child)
    lines.close()
    return end(why)
  } catch (thrown) {
    return end(
      { end: 'not_started', exit: null, killedBy: null },
      `${thrown instanceof Error ? thrown.message : thrown}`,
    )
  } finally {
    markers?.forget(marker.value)
  }
}

/** Waits for the first of: it ends, its time is up, somebody tells us to stop. The last two ask it to end, and wait a little. */
async function ending(
  child: GuardedChild,
  { timeoutMs, signal }: ProjectCommandRun,
): Promise<Pick<CommandOutcome, 'end' | 'exit' | 'killedBy'>> {
  const gone = once(child, 'exit')
  const over = new AbortController()
  const timer = setTimeout(() => over.abort('timed_out'), timeoutMs)
  const stop = () => over.abort('aborted')
  signal.addEventListener('abort', stop, { once: true })
  const stopped = once(over.signal, 'abort')
  try {
    await Promise.race([gone, stopped])
    if (!over.signal.aborted) {
      const killedBy = child.signalCode
      return { end: killedBy === null ? 'exited' : 'killed', exit: child.exitCode, killedBy }
    }
    askToEnd(child)
    const grace = AbortSignal.timeout(GRACE_MS)
    await Promise.race([gone, once(grace, 'abort')]).catch(() => undefined)
    return { end: over.signal.reason, exit: null, killedBy: null }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    gone.catch(() => undefined) // it could not be started: that was thrown above
  }
}

/** The whole group: a shell that waits for its child does not hand a signal on. */
function askToEnd(child: GuardedChild): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGTERM')
  } catch {
    // Gone in this instant.
  }
}

async function drained(child: GuardedChild): Promise<void> {
  const open = [child.stdout, child.stderr].filter(stream => !stream.closed)
  const patience = AbortSignal.timeout(DRAIN_MS)
  await Promise.all(open.map(stream => once(stream, 'close', { signal: patience }).catch(() => undefined)))
  for (const stream of open) stream.destroy()
}

/** What a person let through by name may be a secret of theirs; it is not to be read in a report. */
function secretsIn(env: Record<string, string>): string[] {
  const harmless = /^(PATH|HOME|LANG|LC_.*|TZ|TMPDIR|USER|SHELL|CI|NO_COLOR|PYTEST_ADDOPTS|NODE_OPTIONS)$/
  return Object.entries(env).flatMap(([name, value]) => (harmless.test(name) ? [] : [value]))
}

/** Cuts what streams bring into lines. */
class Lines {
  readonly #tell: ((line: string) => void) | undefined
  readonly #parts: { flush(): void }[] = []
  #bytes = 0

  constructor(tell: ((line: string) => void) | undefined) {
    this.#tell = tell
  }

  get isTooLong(): boolean {
    return this.#bytes > MOST_LINES_BYTES
  }

  open(): { add(chunk: Buffer): void } {
    const decoder = new StringDecoder('utf8')
    let rest = ''
    const tell = (line: string) => this.#tell?.(stripVTControlCharacters(line.slice(0, LONGEST_LINE)).trimEnd())
    this.#parts.push({ flush: () => rest !== '' && tell(rest) })
    return {
      add: chunk => {
        this.#bytes += chunk.length
        if (!this.#tell || this.isTooLong) return
        const [first = '', ...others] = decoder.write(chunk).split('\n')
        rest += first
        for (const next of others) {
          tell(rest)
          rest = next
        }
        if (rest.length > LONGEST_LINE) rest = rest.slice(0, LONGEST_LINE)
      },
    }
  }

  /** The last line may have no end. */
  close(): void {
    if (!this.isTooLong) for (const part of this.#parts) part.flush()
  }
}

/** What is kept of what a command printed: how it began, and more of how it ended, where mistakes are told. */
const HEAD_BYTES = 4_000
const TAIL_BYTES = 12_000

/** A tail is cut again only when it has grown by this, so that each byte is copied a few times at most. */
const SLACK_BYTES = 64_000

/** Takes what a command prints, however much, and holds a bounded part of it. */
class KeptOutput {
  #head = Buffer.alloc(0)
  #tail: Buffer[] = []
  #tailBytes = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    const room = HEAD_BYTES - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)])
    const rest = room > 0 ? chunk.subarray(room) : chunk
    if (rest.length === 0) return
    this.#tail.push(Buffer.from(rest.length > TAIL_BYTES ? rest.subarray(-TAIL_BYTES) : rest))
    this.#tailBytes += this.#tail.at(-1)?.length ?? 0
    if (this.#tailBytes > TAIL_BYTES + SLACK_BYTES) this.#cut()
  }

  /** The beginning and the end, and how much is left out between them. */
  text(): string {
    this.#cut()
    const tail = Buffer.concat(this.#tail)
    const left = this.#bytes - this.#head.length - tail.length
    if (left === 0) return Buffer.concat([this.#head, tail]).toString('utf8')
    return `${this.#head.toString('utf8')}\n[… ${left} bytes left out …]\n${tail.toString('utf8')}`
  }

  #cut(): void {
    const all = Buffer.concat(this.#tail)
    this.#tail = [Buffer.from(all.subarray(Math.max(0, all.length - TAIL_BYTES)))]
    this.#tailBytes = this.#tail[0]?.length ?? 0
  }
}

/** What any program needs to run as its person. Keys and what changes how programs are loaded are not among it. */
const PASSED_NAMES = ['PATH', 'HOME', 'LANG', 'LC_*', 'TZ', 'TMPDIR', 'USER', 'SHELL']

/** Keys of model vendors, and what loads foreign code: nobody can ask for these. */
const NEVER_PASSED =
  /^(ANTHROPIC|CLAUDE|OPENAI|GEMINI|GOOGLE_(API|GENAI|GENERATIVE)|MISTRAL|COHERE|GROQ|XAI|DEEPSEEK|OPENROUTER|CODEX|COPILOT|PCC)(_|$)|^(LD_PRELOAD|LD_AUDIT|DYLD_.*|BASH_ENV|ENV|NODE_OPTIONS|NODE_TEST_CONTEXT|NODE_CHANNEL_FD)$/i

/** The environment of a command of the project: the usual few, and those a person named. */
export function commandEnvironment(
  env: Record<string, string | undefined>,
  named: readonly string[] = [],
): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || NEVER_PASSED.test(name)) continue
    if (named.includes(name) || isPassed(name)) passed[name] = value
  }
  // What asks questions or draws pictures for a terminal does not in a build.
  return { ...passed, CI: '1', NO_COLOR: '1' }
}

function isPassed(name: string): boolean {
  return PASSED_NAMES.some(each => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each))
}

/** Markers of commands that run for a project: where the next daemon looks for what this one left running. */
export function commandMarkers(runDir: string): MarkerFiles {
  return new MarkerFiles(join(runDir, 'commands'))
}
