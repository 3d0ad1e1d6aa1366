import { constants } from 'node:fs'
import { mkdtemp, open as openFile, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isUuid, secretId } from '../../base/ids.ts'
import { openGuard } from '../../base/process/guardian.ts'
import { codexAgent } from '../../domain/agents/codex.ts'
import type { ConversationState, Driver, Failure, OpenSession } from '../../domain/session.ts'
import { AgentProcess, type DriverOptions } from '../agent-process.ts'
import { openAgentSandbox } from '../agent-sandbox.ts'
import { ASK_DEADLINE_MS, checkedAsks } from '../checked-asks.ts'
import { type PipedProcess, PipedSession } from '../piped-session.ts'
import { CodexConversation } from './conversation.ts'
import { rpcFailure } from './failures.ts'
import { CodexGate } from './gate.ts'
import { codexHome, openThread, prepareHome } from './open-thread.ts'
import { flagsFor } from './policy.ts'
import { CodexConnection } from './wire.ts'

/** Codex starts within a second, or a few on a busy machine; a process that is silent for this long never will. */
const START_MS = 90_000
/** A Codex that was told to stop and does not is ended after this time. */
const STOP_MS = 15_000

export interface CodexDriverOptions extends DriverOptions {
  /** The program and the arguments before `app-server`; `codex` when absent. */
  command?: string[] | undefined
  /** How long Codex may take to introduce itself and to open a conversation. */
  startMs?: number | undefined
  /** How long Codex may take to stop. */
  stopMs?: number | undefined
}

/** Drives Codex through `codex app-server`. */
export function codexDriver(options: CodexDriverOptions = {}): Driver {
  const { executable, command, appendPrompt, log = () => undefined } = options
  const { askDeadlineMs = ASK_DEADLINE_MS, startMs = START_MS, stopMs = STOP_MS } = options
  const program = command ?? [executable ?? 'codex']
  const guard = openGuard()
  return {
    agent: 'codex',
    isVendorId: isUuid,
    conversationState: (vendorId, { env }) => threadState(vendorId, env),
    async open(open) {
      const sandbox = openAgentSandbox(codexAgent.sandbox, open, line => log(`session ${open.id}: ${line}`))
      log(`session ${open.id}: starts Codex (${guard.level(open.isolation)}${sandbox ? ', sandbox' : ''})`)
      const process = new AgentProcess({
        manifest: codexAgent,
        guard,
        isolation: open.isolation,
        marker: open.marker ?? secretId(16),
        sandbox,
        log: line => log(`session ${open.id}: ${line}`),
      })
      const deps = { manifest: codexAgent, process, program, appendPrompt, askDeadlineMs, startMs, stopMs, log }
      return new CodexSession(open, deps)
    },
    // Codex starts in a third of a second, and a warm process would have to be set up all over again.
    warm: async () => undefined,
    cool: async () => undefined,
    close: async () => undefined,
  }
}

export interface CodexProcess extends PipedProcess {
  program: string[]
  appendPrompt: string | undefined
}

/** One conversation with Codex. */
class CodexSession extends PipedSession<CodexConnection> {
  protected readonly turns: CodexConversation['turns']
  readonly #deps: CodexProcess
  readonly #conversation: CodexConversation
  readonly #gate: CodexGate
  /** The folder for temporary files. */
  #temp = ''

  constructor(open: OpenSession, deps: CodexProcess) {
    super(open, deps)
    this.#deps = deps
    this.#conversation = new CodexConversation(open, this.link())
    this.turns = this.#conversation.turns
    const asks = checkedAsks(open.asks, deps.askDeadlineMs)
    const callbacks = this.#conversation.gateCallbacks(asks, note => this.output.note(note))
    this.#gate = new CodexGate(callbacks, this.#conversation.calls)
    this.begin()
  }

  /** Codex calls the model as soon as a tool has answered: only an immediate stop is sure to come before that. */
  async withhold(): Promise<void> {
    if (this.turns.running && !this.#conversation.isUnanswered) return this.pause({ atOnce: true })
    if (!this.turns.running) this.turns.setOwed(false)
    await this.kill()
  }

  protected async connect(): Promise<CodexConnection | undefined> {
    const { cwd, env: sessionEnv, settingSources, prompt, resume, sandbox } = this.open
    if (prompt === undefined && resume) {
      this.turns.setOwed(true)
      this.ending.fail(NOTHING_PARKED)
      return undefined
    }
    const temp = await openSessionTemp(sessionEnv)
    this.cleanup.defer(temp.remove)
    this.#temp = temp.path
    // All worktrees of a repository are one project.
    const project = sandbox?.git?.common ?? cwd
    const home = await prepareHome(sessionEnv, { user: settingSources.includes('user'), project })
    const flags = flagsFor({ cwd, home: home.own, readsProject: settingSources.includes('project'), temp: temp.path })
    const [command = 'codex', ...before] = this.#deps.program
    const args = [...before, 'app-server', ...flags]
    const env = { ...sessionEnv, ...temp.env, CODEX_HOME: home.given }
    const paths = { shows: home.read, writes: [temp.path, ...home.written] }
    const child = this.#deps.process.spawn({ command, args, env, cwd, signal: this.ending.gone, ...paths })
    return new CodexConnection(child, {
      ...this.listeners(),
      notified: (method, params) => {
        if (!this.ending.closing || this.turns.running) this.#conversation.notified(method, params)
      },
      asked: (method, params, signal) => this.#gate.answer(method, params, signal),
    })
  }

  protected async introduce(connection: CodexConnection, signal: AbortSignal): Promise<void> {
    const { appendPrompt } = this.#deps
    this.#conversation.opened(await openThread(connection, { open: this.open, temp: this.#temp, appendPrompt, signal }))
  }

  protected refusal(error: unknown): Failure {
    const failure = rpcFailure(error)
    const isRefused = failure.kind === 'other' && !(error instanceof Error)
    return this.open.resume && isRefused ? { ...failure, kind: 'resume_unknown' } : failure
  }

  protected override cutOff(failure: Failure): void {
    this.#deps.process.kill()
    super.cutOff(failure)
  }
}

/** A parked call of Codex is given up: the person's answer comes with a prompt. */
const NOTHING_PARKED: Failure = {
  kind: 'nothing_parked',
  message: 'There was no parked call to answer. Go on with a prompt.',
}

/** Bytes of a conversation's file to read: its first line holds the instructions, and more than the beginning is not needed. */
const BEGINNING = 4096

/** The state of a conversation in Codex's own files. */
async function threadState(vendorId: string, env: Record<string, string>): Promise<ConversationState> {
  if (!isUuid(vendorId)) return 'missing'
  const home = codexHome(env)
  for (const folder of ['sessions', 'archived_sessions']) {
    const file = await findRollout(join(home, folder), vendorId)
    if (file) return (await hasValidStart(file)) ? 'intact' : 'damaged'
  }
  return 'missing'
}

async function findRollout(folder: string, vendorId: string): Promise<string | undefined> {
  // Agents write here. With the types of entries, links are not followed: one could lead into a cycle or out of the folder.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const match = entries.find(entry => !entry.isSymbolicLink() && entry.name.includes(vendorId))
  return match === undefined ? undefined : join(match.parentPath, match.name)
}

/** Only Codex can unpack a compressed conversation; the beginning of a plain one must make sense. */
async function hasValidStart(file: string): Promise<boolean> {
  try {
    // An agent writes in this folder: a pipe would never be opened.
    await using handle = await openFile(file, constants.O_RDONLY | constants.O_NONBLOCK)
    if (!(await handle.stat()).isFile()) return false
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0)
    if (!file.endsWith('.jsonl')) return bytesRead > 0
    return buffer.subarray(0, bytesRead).toString('utf8').trimStart().startsWith('{"')
  } catch {
    return false
  }
}

/** Where the temporary files of one session go. */
export interface SessionTemp {
  path: string
  env: Record<string, string>
  remove(): Promise<void>
}

/**
 * Creates a folder for temporary files of this session alone. By itself Codex lets every command write to all of `/tmp`, where others keep
 * their files and whole projects may be; and it leaves an empty `.git` in every writable folder, which makes git take `/tmp` for a broken
 * repository.
 */
async function openSessionTemp(env: Record<string, string>): Promise<SessionTemp> {
  const path = await realpath(await mkdtemp(join(env['TMPDIR'] || tmpdir(), 'pcc-codex-')))
  return {
    path,
    env: { TMPDIR: path, TMP: path, TEMP: path },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
