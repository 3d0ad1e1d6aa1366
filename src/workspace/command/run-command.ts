import { once } from 'node:events'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import { readEnvSecrets } from '../../base/env-files.ts'
import { secretId } from '../../base/ids.ts'
import type { GuardedChild, ProcessGuard } from '../../base/process/guardian.ts'
import type { Isolation } from '../../base/process/isolation.ts'
import { MarkerFiles, sessionMarker } from '../../base/process/marker.ts'
import { redactText } from '../../base/redact.ts'
import { isVendorVariable } from '../../domain/vendors.ts'
import {
  type CapHit,
  type CommandCaps,
  capOfEnd,
  cappedShell,
  endCapped,
  readCommandCaps,
  watchCaps,
} from './command-caps.ts'
import type { OpenCommandSandbox } from './plan-sandbox.ts'

/** What is needed to start commands of a project. */
export interface CommandRunner {
  guard: ProcessGuard
  isolation?: Isolation | undefined
  /** Markers by which the next daemon finds processes that this one leaves behind. Without them only the guardian ends those. */
  markers?: MarkerFiles | undefined
  /** The sandbox around a command. */
  sandbox?: OpenCommandSandbox | undefined
  /** What each command may use; by default what the settings allow by default. */
  caps?: CommandCaps | undefined
}

export interface ProjectCommandRun {
  /** The argument of `sh -c`. */
  command: string
  directory: string
  /** The complete environment of the command. */
  env: Record<string, string>
  timeoutMs: number
  signal: AbortSignal
  /** Further folders that the command reads. */
  reads?: readonly string[] | undefined
  /** Called with each complete line of the output, without colours, until the output gets too long. */
  onLine?: ((line: string) => void) | undefined
}

/** How a command ended: by itself, killed by a signal, by its timeout, by a cap, by an abort, or it never started. */
export type CommandEnd = 'exited' | 'killed' | 'timed_out' | 'capped' | 'aborted' | 'not_started'

export interface CommandOutcome {
  end: CommandEnd
  /** Null unless it exited by itself. */
  exit: number | null
  /** The signal that killed it. */
  killedBy: string | null
  /** The cap that it met; undefined unless `end` is `capped`. */
  cap?: CapHit | undefined
  durationMs: number
  /** Beginning and end of the output, both streams, with secrets removed. */
  output: string
  /** The number of bytes that it printed. */
  printed: number
  /** The output got too long, and `onLine` was no longer called from some point on. */
  isTooLong: boolean
}

/** How long a command has after SIGTERM before it and everything that it started are killed. */
const GRACE_MS = 2_000
/** How long the pipes are read after the end: the rest arrives at once, and a process that still holds them is not waited for. */
const DRAIN_MS = 1_000
/** Beyond this length the output is no longer read line by line: it is no list of tests. */
const MOST_LINES_BYTES = 64_000_000
const LONGEST_LINE = 16_000

/**
 * Runs one command of a project, with its own process group, empty input and a restricted environment. However it ends, nothing
 * that it started is alive afterwards. It does not throw: every failure is an outcome.
 */
export async function runCommand(
  run: ProjectCommandRun,
  { guard, isolation = 'auto', markers, sandbox: openSandbox, caps = readCommandCaps() }: CommandRunner,
): Promise<CommandOutcome> {
  const began = performance.now()
  const output = new KeptOutput()
  const lines = new Lines(run.onLine)
  const outcome = (end: EndFacts, more = ''): CommandOutcome => ({
    ...end,
    durationMs: Math.round(performance.now() - began),
    output: redactText(`${output.text()}${more}`, [...secretsIn(run.env), ...readEnvSecrets(run.directory)]),
    printed: output.bytes,
    isTooLong: lines.isTooLong,
  })
  if (run.signal.aborted) return outcome({ end: 'aborted', exit: null, killedBy: null })
  const marker = sessionMarker(secretId())
  markers?.note(marker.value)
  try {
    await using sandbox = await openSandbox?.(run)
    const shell = { ...cappedShell(run.command, caps), env: run.env, cwd: run.directory }
    const pidNamespace = guard.level(isolation) !== 'namespace'
    const wrapped = sandbox?.wrap({ ...shell, shows: [], writes: [] }, { pidNamespace })
    await using child = guard.spawn({ ...(wrapped ? { ...wrapped, cwd: '/' } : shell), marker }, isolation)
    sandbox?.breached.addEventListener('abort', () => child.kill('SIGKILL'), { once: true })
    using watch = watchCaps(child, caps, writtenFolders(run))
    child.stdin.on('error', () => undefined).end() // the command may exit before its input is closed
    for (const stream of [child.stdout, child.stderr]) {
      const part = lines.open()
      stream.on('data', (chunk: Buffer) => {
        watch.printed(chunk.length)
        output.add(chunk)
        part.add(chunk)
      })
    }
    const end = nameCap(await waitForEnd(child, run, watch.signal), caps)
    await child.end()
    await drain(child)
    lines.close()
    return outcome(end)
  } catch (thrown) {
    return outcome(
      { end: 'not_started', exit: null, killedBy: null },
      `${thrown instanceof Error ? thrown.message : thrown}`,
    )
  } finally {
    markers?.forget(marker.value)
  }
}

type EndFacts = Pick<CommandOutcome, 'end' | 'exit' | 'killedBy' | 'cap'>

/**
 * Waits until the command ends, times out, meets a cap or is aborted. A command that met a cap is ended at once; one that timed out
 * or is aborted is asked to end, and gets a grace period.
 */
async function waitForEnd(
  child: GuardedChild,
  { timeoutMs, signal }: ProjectCommandRun,
  capped: AbortSignal,
): Promise<EndFacts> {
  const exited = once(child, 'exit')
  const stopping = new AbortController()
  const timer = setTimeout(() => stopping.abort('timed_out'), timeoutMs)
  const stop = () => stopping.abort('aborted')
  signal.addEventListener('abort', stop, { once: true })
  capped.addEventListener('abort', () => stopping.abort('capped'), { once: true })
  const stopRequested = once(stopping.signal, 'abort')
  try {
    await Promise.race([exited, stopRequested])
    if (!stopping.signal.aborted) {
      const killedBy = child.signalCode
      return { end: killedBy === null ? 'exited' : 'killed', exit: child.exitCode, killedBy }
    }
    if (stopping.signal.reason === 'capped') {
      await endCapped(child)
      return { end: 'capped', exit: null, killedBy: null, cap: capped.reason }
    }
    askToEnd(child)
    const grace = AbortSignal.timeout(GRACE_MS)
    await Promise.race([exited, once(grace, 'abort')]).catch(() => undefined)
    return { end: stopping.signal.reason, exit: null, killedBy: null }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    exited.catch(() => undefined) // a command that could not be started has already thrown above
  }
}

/** Names the cap where the kernel has ended the command for it. */
function nameCap(facts: EndFacts, caps: CommandCaps): EndFacts {
  const cap = facts.cap ?? capOfEnd(facts, caps)
  return cap ? { end: 'capped', exit: null, killedBy: null, cap } : facts
}

/** Where a command usually writes: its project, its files in between, and caches in its home. */
function writtenFolders({ directory, env }: ProjectCommandRun): string[] {
  return [directory, env['TMPDIR'] ?? '/tmp', env['HOME'] ?? directory]
}

/** The signal goes to the whole group: a shell that waits for its child does not pass it on. */
function askToEnd(child: GuardedChild): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGTERM')
  } catch {
    // It has just exited.
  }
}

async function drain(child: GuardedChild): Promise<void> {
  const open = [child.stdout, child.stderr].filter(stream => !stream.closed)
  const signal = AbortSignal.timeout(DRAIN_MS)
  await Promise.all(open.map(stream => once(stream, 'close', { signal }).catch(() => undefined)))
  for (const stream of open) stream.destroy()
}

/** A variable that a person passes by name may be a secret, which must not appear in a report. */
function secretsIn(env: Record<string, string>): string[] {
  const harmless = /^(PATH|HOME|LANG|LC_.*|TZ|TMPDIR|USER|SHELL|CI|NO_COLOR|PYTEST_ADDOPTS|NODE_OPTIONS)$/
  return Object.entries(env).flatMap(([name, value]) => (harmless.test(name) ? [] : [value]))
}

/** Splits streams into lines. */
class Lines {
  readonly #onLine: ((line: string) => void) | undefined
  readonly #parts: { flush(): void }[] = []
  #bytes = 0

  constructor(onLine: ((line: string) => void) | undefined) {
    this.#onLine = onLine
  }

  get isTooLong(): boolean {
    return this.#bytes > MOST_LINES_BYTES
  }

  open(): { add(chunk: Buffer): void } {
    const decoder = new StringDecoder('utf8')
    let rest = ''
    const emit = (line: string) => this.#onLine?.(stripVTControlCharacters(line.slice(0, LONGEST_LINE)).trimEnd())
    this.#parts.push({ flush: () => rest !== '' && emit(rest) })
    return {
      add: chunk => {
        this.#bytes += chunk.length
        if (!this.#onLine || this.isTooLong) return
        const [first = '', ...others] = decoder.write(chunk).split('\n')
        rest += first
        for (const next of others) {
          emit(rest)
          rest = next
        }
        if (rest.length > LONGEST_LINE) rest = rest.slice(0, LONGEST_LINE)
      },
    }
  }

  /** Emits the last lines, which may have no line break. */
  close(): void {
    if (!this.isTooLong) for (const part of this.#parts) part.flush()
  }
}

/** How much of the output is kept: the beginning, and more of the end, where errors usually are. */
const HEAD_BYTES = 4_000
const TAIL_BYTES = 12_000

/** The tail is cut only when it has grown by this much, so that each byte is copied a few times at most. */
const SLACK_BYTES = 64_000

/** Takes any amount of output, and keeps a bounded part of it. */
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

/** Variables that any program needs to run as its person: no keys, and nothing that changes how programs are loaded. */
const PASSED_NAMES = ['PATH', 'HOME', 'LANG', 'LC_*', 'TZ', 'TMPDIR', 'USER', 'SHELL']

/** Keys of further model vendors, and variables that load foreign code: like those of our agents these are never passed, even by name. */
const NEVER_PASSED =
  /^(GOOGLE_(API|GENAI|GENERATIVE)|MISTRAL|COHERE|GROQ|XAI|DEEPSEEK|OPENROUTER|PCC)(_|$)|^(LD_PRELOAD|LD_AUDIT|DYLD_.*|BASH_ENV|ENV|NODE_OPTIONS|NODE_TEST_CONTEXT|NODE_CHANNEL_FD)$/i

/** The environment of a command of the project: a few usual variables, and those that a person names. */
export function commandEnvironment(
  env: Record<string, string | undefined>,
  named: readonly string[] = [],
): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || NEVER_PASSED.test(name) || isVendorVariable(name)) continue
    if (named.includes(name) || isPassed(name)) passed[name] = value
  }
  // Programs that ask questions or draw in a terminal do not do so in CI.
  return { ...passed, CI: '1', NO_COLOR: '1' }
}

function isPassed(name: string): boolean {
  return PASSED_NAMES.some(passed => (passed.endsWith('*') ? name.startsWith(passed.slice(0, -1)) : name === passed))
}

/** Markers of project commands, by which the next daemon finds those that this one left running. */
export function commandMarkers(runDir: string): MarkerFiles {
  return new MarkerFiles(join(runDir, 'commands'))
}
