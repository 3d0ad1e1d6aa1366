import { AppError } from '../../base/errors.ts'
import type { SessionView, StartSession } from '../../domain/api.ts'
import type { Connection } from '../connection/connection.ts'
import type { Context } from '../context.ts'
import { isInteractive } from '../live/interactive.ts'
import { firstLine } from '../render/text.ts'
import type { Work } from '../requirements.ts'
import { brainKeys, callersSettings, sessionEnvironment } from '../session-env.ts'
import type { StartOptions } from './options.ts'

// An ESM import of a built-in reads all its exports, which costs more than the rest of this file.
const { statSync } = process.getBuiltinModule('node:fs')
const { resolve } = process.getBuiltinModule('node:path')

export interface StartCall {
  /** As it was typed. */
  path: string
  options: StartOptions
  context: Context
  connect(): Promise<Connection>
}

/** The body of `pcc start`: a new session, watched here or left in the background. Returns the exit code. */
export async function startSession({ path, options, context, connect }: StartCall): Promise<number> {
  if (options.fork && !options.resume) {
    throw new AppError('usage', { problem: '--fork needs --resume <vendor-id>', command: 'start' })
  }
  const project = projectAt(path)
  const { line, ...work } = await workOf(options)
  const caller = { places: context.places, env: context.env, project, agent: options.agent }
  const [env, keys] = [await sessionEnvironment(caller), await brainKeys(caller)]
  const { config, settings } = callersSettings(context.places, context.env)
  const connection = await connect()
  const asked = connection.request<SessionView>('POST', '/sessions', {
    ...requestOf({ project, work, env, options }),
    config,
    settings: { ...settings, ...keys },
    ...(!options.detach && isInteractive(context) && { attach: true }),
  })
  if (options.detach) return detached(await asked, line, context)
  const [session, [{ runView }, { startHeader }]] = await Promise.all([asked, loadView()])
  if (!context.json && !context.quiet) {
    const { terminal } = context
    const header = startHeader(session, { terminal, cwd: process.cwd(), home: context.env['HOME'] })
    for (const text of [...header, ...(line ? [line] : [])]) context.out(text)
  }
  return runView({ client: connection, session, context, after: 0, env: { ...env, ...keys } })
}

/**
 * Loads the view while the daemon works, but not before the request is out: loading leaves no room for anything else. A
 * socket connects in one turn of the event loop and is written to in the next.
 */
async function loadView() {
  for (let turn = 0; turn < 2; turn++) await new Promise(resolve => setImmediate(resolve))
  return Promise.all([import('../live/run-view.ts'), import('../render/header.ts')])
}

interface Wanted {
  project: string
  work: Work
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
async function workOf({ task, requirements }: StartOptions): Promise<Work & { line?: string | undefined }> {
  if (task?.trim() === '' || (task === undefined && requirements === undefined)) throw new AppError('task_empty', {})
  if (requirements === undefined) return { task: (task ?? '').trim() }
  const { queueLine, workFrom } = await import('../requirements.ts')
  const work = await workFrom(requirements, task?.trim())
  return { ...work, line: queueLine(work, requirements) }
}

function detached(session: SessionView, line: string | undefined, { json, out }: Context): number {
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
function projectAt(path: string): string {
  const project = resolve(path)
  const found = statSync(project, { throwIfNoEntry: false })
  if (!found) throw new AppError('project_missing', { path })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path })
  return project
}
