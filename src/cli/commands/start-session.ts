import { AppError } from '../../base/errors.ts'
import type { SessionView, StartSession } from '../../domain/api.ts'
import { type BudgetLimits, parseBudget } from '../../domain/budget.ts'
import { BRAIN_KINDS, type BrainKind, SESSION_HOSTS, type SessionHost } from '../../domain/option-values.ts'
import type { DaemonConnection } from '../connection/connection.ts'
import { DaemonAbsent, rawConnection } from '../connection/raw-connection.ts'
import { type CommandContext, contextFrom, isInteractive } from '../context.ts'
import type { HotCall } from '../hot-commands.ts'
import { firstLine } from '../render/text.ts'
import type { RequestedWork } from '../requirements.ts'
import { brainKeys, callerSettings, sessionEnvironment } from '../session-env.ts'

/** `pcc start` with a daemon that runs. Nothing comes back, and nothing has happened, where the long way must be taken. */
export async function runHotStart({ operand, flags }: HotCall): Promise<number | undefined> {
  const options = readStartOptions(flags)
  if (!options) return undefined
  const context = await contextFrom({
    ...(typeof flags['--config'] === 'string' && { config: flags['--config'] }),
    ...(typeof flags['--data-dir'] === 'string' && { dataDir: flags['--data-dir'] }),
    verbose: flags['--verbose'] === true,
    quiet: flags['--quiet'] === true,
    json: flags['--json'] === true,
  })
  try {
    const connect = async () => rawConnection(context.paths, context)
    return await startSession({ path: operand, options, context, connect })
  } catch (error) {
    if (error instanceof DaemonAbsent) return undefined
    throw error
  }
}

// An ESM import of a built-in reads all its exports, which costs more than the rest of this file.
const { statSync } = process.getBuiltinModule('node:fs')
const { resolve } = process.getBuiltinModule('node:path')

export interface StartCall {
  /** As it was typed. */
  path: string
  options: StartOptions
  context: CommandContext
  connect(): Promise<DaemonConnection>
}

/** The body of `pcc start`: a new session, watched here or left in the background. Returns the exit code. */
export async function startSession({ path, options, context, connect }: StartCall): Promise<number> {
  if (options.fork && !options.resume) {
    throw new AppError('usage', { problem: '--fork needs --resume <vendor-id>', command: 'start' })
  }
  const project = projectDirectory(path)
  const { line, ...work } = await readWork(options)
  const caller = { paths: context.paths, env: context.env, project, agent: options.agent }
  const [env, keys] = [await sessionEnvironment(caller), await brainKeys(caller)]
  const { config, settings } = callerSettings(context.paths, context.env)
  const connection = await connect()
  const asked = connection.request<SessionView>('POST', '/sessions', {
    ...requestOf({ project, work, env, options }),
    config,
    settings: { ...settings, ...keys },
    ...(!options.detach && isInteractive(context) && { attach: true }),
  })
  if (options.detach) return detached(await asked, line, context)
  const [session, [{ runLiveView }, { startHeader }]] = await Promise.all([asked, loadView()])
  if (!context.json && !context.quiet) {
    const { terminal } = context
    const header = startHeader(session, { terminal, cwd: process.cwd(), home: context.env['HOME'] })
    for (const text of [...header, ...(line ? [line] : [])]) context.out(text)
  }
  return runLiveView({ client: connection, session, context, after: 0, env: { ...env, ...keys } })
}

/**
 * Loads the view while the daemon works, but not before the request is out: loading leaves no room for anything else. A
 * socket connects in one turn of the event loop and is written to in the next.
 */
async function loadView() {
  for (let turn = 0; turn < 2; turn++) await new Promise(resolve => setImmediate(resolve))
  return Promise.all([import('../live/watch.ts'), import('../render/session-page.ts')])
}

interface Wanted {
  project: string
  work: RequestedWork
  env: Record<string, string>
  options: StartOptions
}

function requestOf({ project, work, env, options }: Wanted): StartSession {
  return {
    project,
    ...work,
    env,
    ...(options.sessionName && { name: options.sessionName }),
    ...(options.agent && { agent: options.agent }),
    ...(options.model && { model: options.model }),
    ...(options.maxTurns && { max_turns: options.maxTurns }),
    ...(options.allowedTools && { allowed_tools: options.allowedTools }),
    ...(options.disallowedTools && { disallowed_tools: options.disallowedTools }),
    ...(options.autoApprove !== undefined && { auto_approve: options.autoApprove }),
    ...(options.autoResume !== undefined && { auto_resume: options.autoResume }),
    ...(options.budget && { budget: options.budget }),
    ...(options.priority !== undefined && { priority: options.priority }),
    ...(options.brain !== undefined && { brain: options.brain }),
    ...(options.brainModel !== undefined && { brain_model: options.brainModel }),
    ...(options.confidence !== undefined && { confidence: options.confidence }),
    ...(options.worktree && { worktree: true }),
    ...(options.host && { host: options.host }),
    ...(options.resume && { resume: { vendor_id: options.resume, fork: options.fork === true } }),
    ...(options.record && { record: resolve(options.record) }),
  }
}

/** Files are read, and what reads them is loaded, only where there is one. */
async function readWork({ task, requirements }: StartOptions): Promise<RequestedWork & { line?: string | undefined }> {
  if (task?.trim() === '' || (task === undefined && requirements === undefined)) throw new AppError('task_empty', {})
  if (requirements === undefined) return { task: (task ?? '').trim() }
  const { queueLine, readRequestedWork } = await import('../requirements.ts')
  const work = await readRequestedWork(requirements, task?.trim())
  return { ...work, line: queueLine(work, requirements) }
}

function detached(session: SessionView, line: string | undefined, { json, out }: CommandContext): number {
  if (json) out(JSON.stringify(session, null, 2))
  else {
    out(
      `Session ${session.queued ? 'queued, it waits for a free place' : 'started'}: ${session.id} (${firstLine(session.name)})`,
    )
    if (line) out(line)
    out(`Attach with: pcc attach ${session.id}`)
  }
  return 0
}

/** Looked at here as well as by the daemon: a mistyped path should not start one. */
function projectDirectory(path: string): string {
  const project = resolve(path)
  const found = statSync(project, { throwIfNoEntry: false })
  if (!found) throw new AppError('project_missing', { path })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path })
  return project
}

/** What `pcc start` was called with. */
export interface StartOptions {
  task?: string
  requirements?: string
  agent?: string
  model?: string
  maxTurns?: number
  allowedTools?: string[]
  disallowedTools?: string[]
  autoApprove?: boolean
  autoResume?: boolean
  budget?: BudgetLimits
  priority?: number
  brain?: BrainKind
  brainModel?: string
  confidence?: number
  worktree?: boolean
  host?: SessionHost
  detach?: boolean
  sessionName?: string
  resume?: string
  fork?: boolean
  record?: string
}

/** The options from flags as they were typed; undefined where commander must explain what is wrong with one. */
export function readStartOptions(flags: Record<string, string | true>): StartOptions | undefined {
  const text = (flag: string) => (typeof flags[flag] === 'string' ? flags[flag] : undefined)
  const maxTurns = optional(text('--max-turns'), parsePositive)
  const allowedTools = optional(text('--allowed-tools'), parseTools)
  const disallowedTools = optional(text('--disallowed-tools'), parseTools)
  const priority = optional(text('--priority'), parseWhole)
  const budget = optional(text('--budget'), readBudget)
  const brain = optional(text('--brain'), parseBrainKind)
  const confidence = optional(text('--confidence'), parseShare)
  const host = optional(text('--host'), parseHost)
  if (
    brain === 'wrong' ||
    host === 'wrong' ||
    confidence === 'wrong' ||
    budget === 'wrong' ||
    priority === 'wrong' ||
    maxTurns === 'wrong' ||
    allowedTools === 'wrong' ||
    disallowedTools === 'wrong'
  )
    return undefined
  // Both said: the last one counts, which commander knows.
  if (flags['--auto-approve'] && flags['--no-auto-approve']) return undefined
  if (flags['--auto-resume'] && flags['--no-auto-resume']) return undefined
  return withoutAbsent({
    task: text('--task'),
    requirements: text('--requirements'),
    agent: text('--agent'),
    model: text('--model'),
    maxTurns,
    allowedTools,
    disallowedTools,
    autoApprove: flags['--no-auto-approve'] ? false : flags['--auto-approve'],
    autoResume: flags['--no-auto-resume'] ? false : flags['--auto-resume'],
    budget,
    priority,
    brain,
    brainModel: text('--brain-model'),
    confidence,
    worktree: flags['--worktree'],
    host,
    detach: flags['--detach'],
    sessionName: text('--session-name'),
    resume: text('--resume'),
    fork: flags['--fork'],
    record: text('--record'),
  })
}

/** A whole number above 0; undefined when it is none. */
export function parsePositive(text: string): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined
}

/** A whole number, as a priority is; undefined when it is none. */
export function parseWhole(text: string): number | undefined {
  return /^[+-]?\d{1,6}$/.test(text) ? Number(text) : undefined
}

function readBudget(text: string): BudgetLimits | undefined {
  const read = parseBudget(text)
  return 'limits' in read ? read.limits : undefined
}

function parseBrainKind(text: string): BrainKind | undefined {
  return BRAIN_KINDS.find(kind => kind === text)
}

function parseHost(text: string): SessionHost | undefined {
  return SESSION_HOSTS.find(host => host === text)
}

/** A number from 0 to 1; undefined when it is none. */
export function parseShare(text: string): number | undefined {
  return /^(0(\.\d+)?|1(\.0+)?|\.\d+)$/.test(text) ? Number(text) : undefined
}

/** Names by commas; rules may hold commas inside parentheses: `Bash(git log:*),Read`. Undefined when there is none, or one is left open. */
export function parseTools(text: string): string[] | undefined {
  if (!hasClosedBrackets(text)) return undefined
  const found = (text.match(/(?:\([^)]*\)|[^,(])+/g) ?? []).map(name => name.trim()).filter(Boolean)
  return found.length === 0 ? undefined : found
}

/** `Bash(rm *` would count as a tool of that odd name, that is, not at all. */
export function hasClosedBrackets(text: string): boolean {
  let depth = 0
  for (const each of text) {
    if (each === '(') depth++
    if (each === ')') depth--
    if (depth < 0) return false
  }
  return depth === 0
}

function optional<T>(text: string | undefined, read: (text: string) => T | undefined): T | 'wrong' | undefined {
  return text === undefined ? undefined : (read(text) ?? 'wrong')
}

function withoutAbsent(options: Record<string, unknown>): StartOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
