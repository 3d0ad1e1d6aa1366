import { AppError, messageOf } from '../../base/errors.ts'
import { KeyedWorker } from '../../base/keyed-worker.ts'
import type { CreateFeature } from '../../domain/feature.ts'
import { type FeatureUntil, isLaterPhase } from '../../domain/feature-phase.ts'
import type { FeatureRow, SessionRow } from '../../store/tables.ts'
import { removeDocuments } from '../../tasks/features.ts'
import { removeFeatureTasks } from '../../tasks/graph.ts'
import { checkProject } from '../context.ts'
import { waitsForAccount } from '../session/resume.ts'
import {
  collectPhase,
  type FeatureDeps,
  mayAskAgain,
  moveFeature,
  newFeature,
  refuseBegun,
  skipWrittenPhases,
} from './create.ts'
import { beginPhase } from './phases.ts'

export interface ContinueFeature {
  until: FeatureUntil
  env: Record<string, string>
  attach?: boolean | undefined
}

/** Error codes after which a session can never resume: a new one is started. */
const HOPELESS: ReadonlySet<string> = new Set(['account_differs', 'session_complete', 'session_unknown'])

/** Error codes that mean that somebody else resumes the session in the same moment: a restarted daemon, or the waker. */
const RESUMED_ELSEWHERE: ReadonlySet<string> = new Set(['session_running', 'conversation_live', 'feature_moved'])

/** Whether the next phase begins without asking the person again. */
function isPhaseWanted({ phase, until }: FeatureRow): boolean {
  return !isLaterPhase(phase, until)
}

/** Whether nobody needs to resume the session: it is at work, resumes at a time, or resumes with an answer. */
function goesOnByItself({ state, ended_as, resumes_at }: SessionRow): boolean {
  return state !== 'ended' || ended_as === 'waiting_input' || resumes_at !== null
}

/**
 * Leads features from an idea to tasks. Each phase is one session; when that is over, its result is saved and the next phase
 * begins, up to the phase that the person named. Everything is kept in rows and files, so a restart changes nothing.
 */
export class FeatureManager {
  readonly #deps: FeatureDeps
  readonly #worker: KeyedWorker

  constructor(deps: FeatureDeps) {
    this.#deps = deps
    this.#worker = new KeyedWorker({
      work: async id => void (await this.#advance(id)),
      failed: async (id, error) => void (await this.#halt(id, error)),
    })
  }

  /** Creates a feature and begins its first phase. A feature that exists and is not ready goes on. */
  async create(request: CreateFeature): Promise<FeatureRow> {
    const { store } = this.#deps
    const project = await checkProject(request.project)
    const { name, ai } = request
    const found = await store.features.named(project, name)
    if (found?.phase === 'ready') throw new AppError('feature_there', { name })
    const wanted = { ...request, project, found }
    if (found && ai) {
      await refuseBegun(wanted)
      return this.goOn(found, request)
    }
    const row = await newFeature(wanted, this.#deps)
    if (isPhaseWanted(row)) await beginPhase(row, { ...this.#deps, attach: request.attach })
    return this.#row(row.id)
  }

  /** Goes on with a feature: resumes its session, or begins its next phase. */
  async goOn({ id }: FeatureRow, { until, env, attach }: ContinueFeature): Promise<FeatureRow> {
    const { store, kept } = this.#deps
    await store.features.update(id, { until })
    await this.look(id)
    const row = await this.#row(id).then(found => skipWrittenPhases(found, this.#deps))
    if (!isPhaseWanted(row)) return row
    const onDisk = await this.#deps.keepsEnvironment({ project: row.project, ...row.options })
    kept.keep(id, { ...kept.of(id), ...env }, { onDisk })
    const session = row.session_id === null ? undefined : await store.sessions.get(row.session_id)
    // The environment may hold a new login: a person who has set one types the same command again.
    if (session && goesOnByItself(session) && !(await waitsForAccount(session, store))) return row
    await store.features.update(id, { problem: null })
    try {
      if (!session) await beginPhase(row, { ...this.#deps, attach })
      else await this.#deps.resume(session, env)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (RESUMED_ELSEWHERE.has(error.code)) return this.#row(id)
      if (!session || !HOPELESS.has(error.code)) throw error
      await beginPhase(row, { ...this.#deps, attach })
    }
    return this.#row(id)
  }

  /** Saves the result of the feature's session if that is over. Resolves when nothing is left to do now. Never throws. */
  look(id: string): Promise<void> {
    return this.#worker.wake(id)
  }

  async lookAtAll(): Promise<void> {
    for (const { id } of await this.#deps.store.features.list({ open: true })) await this.look(id)
  }

  /** Follows the ends of sessions, and checks the features that they belong to. */
  async follow(after: number, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps
    for await (const { kind, subject } of store.follow(after, { signal, alone: true })) {
      if (kind !== 'session.ended') continue
      const feature = (await store.sessions.get(subject))?.options.feature
      if (feature) await this.look(feature.id)
    }
  }

  /** Stops the feature's session and deletes the feature; its files and tasks only where the person says so. */
  async remove(row: FeatureRow, { files, tasks }: { files: boolean; tasks: boolean }): Promise<void> {
    const { store, kept } = this.#deps
    const { id, project, name, session_id } = row
    if (session_id !== null) await this.#deps.stop(session_id, 'its feature was deleted')
    await store.transaction(async tx => {
      if (tasks) await removeFeatureTasks({ project, name }, { ...this.#deps, tx })
      await store.features.remove(id, tx)
      await tx.append([{ actor: 'human', subject: id, kind: 'feature.deleted', body: { project, name } }])
    })
    kept.forget(id)
    if (files) await removeDocuments(row)
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  async #advance(id: string): Promise<void> {
    const { store } = this.#deps
    const row = await store.features.get(id)
    const session = row?.session_id == null ? undefined : await store.sessions.get(row.session_id)
    if (!row || row.phase === 'ready' || session?.state !== 'ended') return
    if (session.ended_as === 'error' || session.ended_as === 'stopped') {
      const problem = `Its session ${session.id} ${session.ended_as === 'error' ? 'failed' : 'was stopped'}: ${session.status_reason ?? 'no reason was given'}`
      if (row.problem !== problem) await moveFeature(row, { problem }, this.#deps)
      return
    }
    if (session.ended_as !== 'completed') return // it resumes: at its time, or with an answer
    const collected = await collectPhase(row, session.id, this.#deps)
    // The row keeps its session until the next one takes its place: a daemon that dies in between repeats this.
    if (collected.problem && isPhaseWanted(row) && (await mayAskAgain(row, this.#deps)))
      return beginPhase(row, { ...this.#deps, isRetry: true })
    const moved = await moveFeature(row, collected, this.#deps)
    if (moved.phase === 'ready') return this.#deps.kept.forget(id)
    if (moved.problem === null && isPhaseWanted(moved)) await beginPhase(moved, this.#deps)
  }

  /** Writes to the feature's row why it could not go on and what to do, for people to see. */
  async #halt(id: string, error: unknown): Promise<void> {
    const { store, log } = this.#deps
    if (error instanceof AppError && RESUMED_ELSEWHERE.has(error.code)) return
    log.warn({ feature: id, error }, 'the feature could not go on')
    const row = await store.features.get(id).catch(() => undefined) // the store itself may be what fails
    if (!row || row.phase === 'ready') return
    const problem = error instanceof AppError ? `${error.message} ${error.next}` : messageOf(error)
    // Its session has nothing more to give: the next try starts a new one.
    const over = error instanceof AppError && error.code === 'no_plan' ? { session_id: null } : {}
    if (row.problem === problem) return // the same problem is recorded once
    await moveFeature(row, { problem, ...over }, this.#deps).catch(() => undefined)
  }

  async #row(id: string): Promise<FeatureRow> {
    const row = await this.#deps.store.features.get(id)
    if (!row) throw new AppError('feature_unknown', { name: id, project: 'the store' })
    return row
  }
}
