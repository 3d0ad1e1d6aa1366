import { RequestError } from '@agentclientprotocol/sdk'
import * as z from 'zod'
import { secretId } from '../../base/ids.ts'
import { findProgram } from '../../base/process/find-program.ts'
import type { GuardedChild, ProcessGuard } from '../../base/process/guardian.ts'
import type { Isolation } from '../../base/process/isolation.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { quoteForShell } from '../../base/words.ts'
import { resolveInProject } from './files.ts'
import { type CallApprover, parseParams, refusedError } from './gate.ts'

/** The most output that a terminal keeps, whatever the agent asks for. */
const MAX_OUTPUT = 1_000_000
const MAX_TERMINALS = 32
/** The policy parses a line as bash does; another shell would understand some lines differently (`echo &>/dev/null rm x`). */
const SHELLS = ['/bin/bash', '/usr/bin/bash', 'bash']

const Create = z.looseObject({
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.looseObject({ name: z.string(), value: z.string() })).nullish(),
  cwd: z.string().nullish(),
  outputByteLimit: z.number().int().min(0).nullish(),
})
const TerminalRef = z.looseObject({ terminalId: z.string() })

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
  approver: CallApprover
}

/** Commands that we run for an agent: judged like its own, inside the project, each under a guardian, ended with the session. */
export class AcpTerminals {
  readonly #deps: TerminalDeps
  readonly #open = new Map<string, Terminal>()

  constructor(deps: TerminalDeps) {
    this.#deps = deps
  }

  async create(params: unknown, signal: AbortSignal): Promise<{ terminalId: string }> {
    const { command, args, env, cwd, outputByteLimit } = parseParams(Create, params)
    const { root, approver } = this.#deps
    if (this.#open.size >= MAX_TERMINALS)
      throw refusedError(`There are ${MAX_TERMINALS} terminals already: release some.`)
    const folder = await resolveInProject(cwd ?? root, root)
    if ('outside' in folder) throw refusedError(`Not allowed: ${folder.outside}.`)
    const shell = SHELLS.find(name => findProgram(name, this.#deps.env))
    if (shell === undefined)
      throw refusedError('Not allowed: there is no bash on this machine to run it as it is judged.')
    const script = buildScript({ command, args: args ?? [], env: env ?? [] })
    await approver.approve({ tool: 'Bash', input: { command: script } }, signal, folder.inside)
    if (signal.aborted) throw refusedError('It was called off.')
    const now = await resolveInProject(cwd ?? root, root)
    if (!('inside' in now) || now.inside !== folder.inside) throw refusedError(`${cwd} changed while it was decided.`)
    const limit = Math.min(outputByteLimit ?? MAX_OUTPUT, MAX_OUTPUT)
    return { terminalId: this.#start({ shell, script, cwd: folder.inside, limit }) }
  }

  output(params: unknown): { output: string; truncated: boolean; exitStatus: ExitStatus | null } {
    const { output, truncated, exited } = this.#find(params)
    return { output: output.toString('utf8').replace(/^\uFFFD+/, ''), truncated, exitStatus: exited ?? null }
  }

  async waitForExit(params: unknown, signal: AbortSignal): Promise<ExitStatus> {
    const { exit } = this.#find(params)
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(refusedError('It was called off.')), { once: true })
    return Promise.race([exit, promise])
  }

  async kill(params: unknown): Promise<Record<string, never>> {
    await this.#find(params).child.end()
    return {}
  }

  async release(params: unknown): Promise<Record<string, never>> {
    const { child } = this.#find(params)
    this.#open.delete(parseParams(TerminalRef, params).terminalId)
    await child.end()
    return {}
  }

  /** Ends the commands; their output can still be read. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map(({ child }) => child.end()))
  }

  /** Ends and forgets all terminals. */
  async close(): Promise<void> {
    await this.stop()
    this.#open.clear()
  }

  #start({ shell, script, cwd, limit }: { shell: string; script: string; cwd: string; limit: number }): string {
    const { env, guard, isolation } = this.#deps
    const id = `term-${secretId(6)}`
    // A marker of its own, so that ending the command does not end the agent.
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
    const finish = (status: ExitStatus) => {
      terminal.exited ??= status
      resolve(terminal.exited)
    }
    child.once('close', (exitCode, signal) => finish({ exitCode, signal }))
    child.once('error', () => finish({ exitCode: 127, signal: null }))
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => appendOutput(terminal, chunk))
    this.#open.set(id, terminal)
    return id
  }

  #find(params: unknown): Terminal {
    const { terminalId } = parseParams(TerminalRef, params)
    const terminal = this.#open.get(terminalId)
    if (!terminal) throw RequestError.resourceNotFound(terminalId)
    return terminal
  }
}

/** Keeps the latest output that fits. */
function appendOutput(terminal: Terminal, chunk: Buffer): void {
  const all = Buffer.concat([terminal.output, chunk])
  terminal.truncated ||= all.length > terminal.limit
  terminal.output = all.length > terminal.limit ? Buffer.from(all.subarray(all.length - terminal.limit)) : all
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
 * The script of a command with its variables: what is judged is exactly what bash then runs. With arguments the command is one program;
 * without any, agents pass a whole line, and the variables hold for all of it.
 */
function buildScript({ command, args, env }: ScriptInput): string {
  for (const { name } of env) {
    // Anything else would be parsed differently: the name `true #` would turn all that follows into a comment when it is judged.
    if (!/^[A-Za-z_]\w*$/.test(name)) throw refusedError(`Not allowed: ${JSON.stringify(name)} is not a variable name.`)
    if (HIJACKING.test(name)) throw refusedError(`Not allowed: ${name} could make it run something else.`)
  }
  const set = env.map(({ name, value }) => `${name}=${quoteForShell(value)}`).join(' ')
  if (args.length > 0) return [...(set ? [set] : []), ...[command, ...args].map(quoteForShell)].join(' ')
  return set ? `export ${set}\n${command}` : command
}
