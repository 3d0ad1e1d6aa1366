import { AppError } from '../../base/errors.ts'
import { parsePriority, parseShare } from '../../base/words.ts'
import type { SessionView, StartSession } from '../../domain/api.ts'
import { type BudgetLimits, parseBudget } from '../../domain/budget.ts'
import { BRAIN_KINDS, type BrainKind, SESSION_HOSTS, type SessionHost } from '../../domain/option-values.ts'
import type { DaemonConnection } from '../connection/connection.ts'
import { type CommandContext, isInteractive } from '../context.ts'
import { queuedText } from '../render/format.ts'
import { firstLine } from '../render/text.ts'
import type { RequestedWork } from '../requirements.ts'
import { brainKeys, callerSettings, sessionEnvironment } from '../session-env.ts'

// An ESM import of a built-in module reads all its exports, which costs more than loading the rest of this file.
const { statSync } = process.getBuiltinModule('node:fs')
const { resolve } = process.getBuiltinModule('node:path')

export interface StartCall {
  /** The project path as it was typed. */
  path: string
  options: StartOptions
  context: CommandContext
  client: DaemonConnection
}

/** Starts a session for `pcc start`, and watches it here or leaves it in the background. Returns the exit code. */
export async function startSession({ path, options, context, client }: StartCall): Promise<number> {
  if (options.fork && !options.resume) {
    throw new AppError('usage', { problem: '--fork needs --resume <vendor-id>', command: 'start' })
  }
  const project = projectDirectory(path)
  const { queueText, ...work } = await readWork(options)
  const caller = { paths: context.paths, env: context.env, project, agent: options.agent }
  const [env, keys] = [await sessionEnvironment(caller), await brainKeys(caller)]
  const { config, settings } = callerSettings(context.paths, context.env)
  const asks = !options.detach && isInteractive(context)
  const check = async () => {
    if (!asks && context.quiet) return // nobody would see its lines
    const { preflight } = await import('./preflight.ts')
    const merges = options.worktree === true
    await preflight({ project, env, agent: options.agent, merges, client, context, offers: asks })
  }
  // A person at the terminal may mend something first. Anybody else gets the same lines before the output, without waiting for them.
  if (asks) await check()
  const started = client.request<SessionView>('POST', '/sessions', {
    ...buildRequest({ project, work, env, options }),
    config,
    settings: { ...settings, ...keys },
    ...(asks && { attach: true }),
  })
  started.catch(() => undefined) // it is awaited below, after the lines of the check
  if (!asks) await sendFirst().then(check)
  if (options.detach) return printDetached(await started, queueText, context)
  const [session, [{ runLiveView }, { startHeader }]] = await Promise.all([started, loadView()])
  if (!context.json && !context.quiet) {
    const { terminal } = context
    const header = startHeader(session, { terminal, cwd: process.cwd(), home: context.env['HOME'] })
    for (const line of [...header, ...(queueText ? [queueText] : [])]) context.out(line)
  }
  return runLiveView({ client, session, context, after: 0, env: { ...env, ...keys } })
}

/** Waits until a request is sent, because loading code blocks the event loop. A socket connects in one turn of it and is written to in the next. */
async function sendFirst(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** Loads the view while the daemon works. */
async function loadView() {
  await sendFirst()
  return Promise.all([import('../live/watch.ts'), import('../render/session-page.ts')])
}

interface StartRequest {
  project: string
  work: RequestedWork
  env: Record<string, string>
  options: StartOptions
}

function buildRequest({ project, work, env, options }: StartRequest): StartSession {
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

/** Reads what to do. The code that parses requirements is loaded only when there is such a file. */
async function readWork(options: StartOptions): Promise<RequestedWork & { queueText?: string | undefined }> {
  const { task, requirements } = options
  if (task?.trim() === '' || (task === undefined && requirements === undefined)) throw new AppError('task_empty', {})
  if (requirements === undefined) return { task: (task ?? '').trim() }
  const { queueLine, readRequestedWork } = await import('../requirements.ts')
  const work = await readRequestedWork(requirements, task?.trim())
  return { ...work, queueText: queueLine(work, requirements) }
}

function printDetached(session: SessionView, queueText: string | undefined, { json, out }: CommandContext): number {
  if (json) out(JSON.stringify(session, null, 2))
  else {
    out(`Session ${session.queued ? queuedText(session) : 'started'}: ${session.id} (${firstLine(session.name)})`)
    if (queueText) out(queueText)
    out(`Attach with: pcc attach ${session.id}`)
  }
  return 0
}

/** Checked here as well as by the daemon: a mistyped path should not start a daemon. */
export function projectDirectory(path: string): string {
  const project = resolve(path)
  const stats = statSync(project, { throwIfNoEntry: false })
  if (!stats) throw new AppError('project_missing', { path })
  if (!stats.isDirectory()) throw new AppError('project_not_directory', { path })
  return project
}

/** The options of `pcc start`. */
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

/** Parses the options from flags as they were typed. Returns `undefined` when one is invalid and commander must explain it. */
export function readStartOptions(flags: Record<string, string | true>): StartOptions | undefined {
  const text = (flag: string) => (typeof flags[flag] === 'string' ? flags[flag] : undefined)
  const maxTurns = parseOptional(text('--max-turns'), parsePositive)
  const allowedTools = parseOptional(text('--allowed-tools'), parseTools)
  const disallowedTools = parseOptional(text('--disallowed-tools'), parseTools)
  const priority = parseOptional(text('--priority'), parsePriority)
  const budget = parseOptional(text('--budget'), parseBudgetLimits)
  const brain = parseOptional(text('--brain'), parseBrainKind)
  const confidence = parseOptional(text('--confidence'), parseShare)
  const host = parseOptional(text('--host'), parseHost)
  if (
    brain === 'invalid' ||
    host === 'invalid' ||
    confidence === 'invalid' ||
    budget === 'invalid' ||
    priority === 'invalid' ||
    maxTurns === 'invalid' ||
    allowedTools === 'invalid' ||
    disallowedTools === 'invalid'
  )
    return undefined
  // Both were given: the last one counts, and only commander knows their order.
  if (flags['--auto-approve'] && flags['--no-auto-approve']) return undefined
  if (flags['--auto-resume'] && flags['--no-auto-resume']) return undefined
  return omitUndefined({
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

/** Parses a whole number above 0; `undefined` when it is not one. */
export function parsePositive(text: string): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined
}

function parseBudgetLimits(text: string): BudgetLimits | undefined {
  const parsed = parseBudget(text)
  return 'limits' in parsed ? parsed.limits : undefined
}

function parseBrainKind(text: string): BrainKind | undefined {
  return BRAIN_KINDS.find(kind => kind === text)
}

function parseHost(text: string): SessionHost | undefined {
  return SESSION_HOSTS.find(host => host === text)
}

/**
 * Parses tool names separated by commas; commas inside parentheses belong to a name: `Bash(git log:*),Read`. Returns
 * `undefined` when there is no name, or a bracket is not closed.
 */
export function parseTools(text: string): string[] | undefined {
  if (!hasClosedBrackets(text)) return undefined
  const names = (text.match(/(?:\([^)]*\)|[^,(])+/g) ?? []).map(name => name.trim()).filter(Boolean)
  return names.length === 0 ? undefined : names
}

/** Without this check `Bash(rm *` would be taken for a tool of that name and never match anything. */
export function hasClosedBrackets(text: string): boolean {
  let depth = 0
  for (const character of text) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (depth < 0) return false
  }
  return depth === 0
}

function parseOptional<T>(text: string | undefined, parse: (text: string) => T | undefined): T | 'invalid' | undefined {
  return text === undefined ? undefined : (parse(text) ?? 'invalid')
}

function omitUndefined(options: Record<string, unknown>): StartOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
