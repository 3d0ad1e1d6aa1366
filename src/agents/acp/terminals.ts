import { RequestError } from '@agentclientprotocol/sdk'
import * as z from 'zod'
import { secretId } from '../../base/ids.ts'
import { findProgram } from '../../base/process/find-program.ts'
import type { GuardedChild, ProcessGuard } from '../../base/process/guardian.ts'
import type { Isolation } from '../../base/process/isolation.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { quoteForShell } from '../../base/words.ts'
import { resolveInProject } from './files.ts'
import { type CallApprover, invalidParamsError, refusedError } from './gate.ts'

/** What a terminal keeps of its output, whatever the agent asks for. */
const MAX_OUTPUT = 1_000_000
const MAX_TERMINALS = 32
/** The policy reads a line as bash does; another shell would take some lines for something else (`echo &>/dev/null rm x`). */
const SHELLS = ['/bin/bash', '/usr/bin/bash', 'bash']

const Create = z.looseObject({
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.looseObject({ name: z.string(), value: z.string() })).nullish(),
  cwd: z.string().nullish(),
  outputByteLimit: z.number().int().min(0).nullish(),
})
const Of = z.looseObject({ terminalId: z.string() })

interface ExitStatus {
  exitCode: number | null
  signal: string | null
}

interface Terminal {
  child: GuardedChild
  output: Buffer
  truncated: boolean
  limit: number
  exit: Promise<ExitStatus>
  exited: ExitStatus | undefined
}

interface TerminalDeps {
  root: string
  env: Record<string, string>
  guard: ProcessGuard
  isolation: Isolation
  asking: CallApprover
}

/** Commands that an agent has us run: judged like its own, inside the project, each under a guardian, gone with the session. */
export class AcpTerminals {
  readonly #around: TerminalDeps
  readonly #open = new Map<string, Terminal>()

  constructor(around: TerminalDeps) {
    this.#around = around
  }

  async create(params: unknown, signal: AbortSignal): Promise<{ terminalId: string }> {
    const { command, args, env, cwd, outputByteLimit } = parsed(Create, params)
    const { root, asking } = this.#around
    if (this.#open.size >= MAX_TERMINALS)
      throw refusedError(`There are ${MAX_TERMINALS} terminals already: release some.`)
    const place = await resolveInProject(cwd ?? root, root)
    if ('outside' in place) throw refusedError(`Not allowed: ${place.outside}.`)
    const shell = SHELLS.find(one => findProgram(one, this.#around.env))
    if (shell === undefined)
      throw refusedError('Not allowed: there is no bash on this machine to run it as it is judged.')
    const script = buildScript({ command, args: args ?? [], env: env ?? [] })
    await asking.may({ tool: 'Bash', input: { command: script } }, signal, place.inside)
    if (signal.aborted) throw refusedError('It was called off.')
    const now = await resolveInProject(cwd ?? root, root)
    if (!('inside' in now) || now.inside !== place.inside) throw refusedError(`${cwd} changed while it was decided.`)
    const limit = Math.min(outputByteLimit ?? MAX_OUTPUT, MAX_OUTPUT)
    return { terminalId: this.#start({ shell, script, cwd: place.inside, limit }) }
  }

  output(params: unknown): { output: string; truncated: boolean; exitStatus: ExitStatus | null } {
    const { output, truncated, exited } = this.#of(params)
    return { output: output.toString('utf8').replace(/^\uFFFD+/, ''), truncated, exitStatus: exited ?? null }
  }

  async waitForExit(params: unknown, signal: AbortSignal): Promise<ExitStatus> {
    const { exit } = this.#of(params)
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(refusedError('It was called off.')), { once: true })
    return Promise.race([exit, promise])
  }

  async kill(params: unknown): Promise<Record<string, never>> {
    await this.#of(params).child.end()
    return {}
  }

  async release(params: unknown): Promise<Record<string, never>> {
    const { child } = this.#of(params)
    this.#open.delete(parsed(Of, params).terminalId)
    await child.end()
    return {}
  }

  /** Ends what runs in them; they can still be read. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map(({ child }) => child.end()))
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    await this.stop()
    this.#open.clear()
  }

  #start({ shell, script, cwd, limit }: { shell: string; script: string; cwd: string; limit: number }): string {
    const { env, guard, isolation } = this.#around
    const id = `term-${secretId(6)}`
    // A marker of its own: to end it must not end the agent.
    const marker = sessionMarker(secretId(16))
    const child = guard.spawn({ command: shell, args: ['-c', '--', script], cwd, env, marker }, isolation)
    child.stdin.on('error', () => undefined).end()
    const { promise, resolve } = Promise.withResolvers<ExitStatus>()
    const terminal: Terminal = {
      child,
      output: Buffer.alloc(0),
      truncated: false,
      limit,
      exit: promise,
      exited: undefined,
    }
    const over = (status: ExitStatus) => {
      terminal.exited ??= status
      resolve(terminal.exited)
    }
    child.once('close', (exitCode, signal) => over({ exitCode, signal }))
    child.once('error', () => over({ exitCode: 127, signal: null }))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => keep(terminal, chunk))
    this.#open.set(id, terminal)
    return id
  }

  #of(params: unknown): Terminal {
    const { terminalId } = parsed(Of, params)
    const terminal = this.#open.get(terminalId)
    if (!terminal) throw RequestError.resourceNotFound(terminalId)
    return terminal
  }
}

/** The latest that fits. */
function keep(terminal: Terminal, chunk: Buffer): void {
  const all = Buffer.concat([terminal.output, chunk])
  terminal.truncated ||= all.length > terminal.limit
  terminal.output = all.length > terminal.limit ? Buffer.from(all.subarray(all.length - terminal.limit)) : all
}

function parsed<Shape extends z.ZodType>(shape: Shape, params: unknown): z.infer<Shape> {
  const result = shape.safeParse(params)
  if (!result.success) throw invalidParamsError(result.error.issues[0]?.message ?? 'malformed')
  return result.data
}

interface ScriptInput {
  command: string
  args: string[]
  env: { name: string; value: string }[]
}

/** Variables that make a program run something else than the command that was judged. */
const HIJACKING =
  /^(BASH_ENV|ENV|PROMPT_COMMAND|LD_\w+|DYLD_\w+|NODE_OPTIONS|PERL5OPT|RUBYOPT|PYTHONSTARTUP|PATH|SHELL|PCC_\w+)$/

/**
 * The script of a command, its variables set in it: what is judged is letter by letter what bash then runs. With arguments it is one
 * program; without any, agents give a whole line, and its variables hold for all of it.
 */
function buildScript({ command, args, env }: ScriptInput): string {
  for (const { name } of env) {
    // Another would be read as something else than a name: `true #` takes all that follows out of what is judged.
    if (!/^[A-Za-z_]\w*$/.test(name))
      throw refusedError(`Not allowed: ${JSON.stringify(name)} is no name of a variable.`)
    if (HIJACKING.test(name)) throw refusedError(`Not allowed: ${name} could make it run something else.`)
  }
  const set = env.map(({ name, value }) => `${name}=${quoteForShell(value)}`).join(' ')
  if (args.length > 0) return [...(set ? [set] : []), ...[command, ...args].map(quoteForShell)].join(' ')
  return set ? `export ${set}\n${command}` : command
}
