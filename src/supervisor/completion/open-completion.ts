import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { openGuard, type ProcessGuard } from '../../base/process/guardian.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { VerificationResult } from '../../domain/evidence.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { SessionRow } from '../../store/tables.ts'
import { nameWorkTree } from '../../workspace/git/checkout-state.ts'
import { git } from '../../workspace/git/git.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'
import { openPullRequestProposer } from '../../workspace/merge/pull-request.ts'
import { continueRebase } from '../../workspace/merge/rebase.ts'
import { commitLeftovers } from '../../workspace/verify/commit-leftovers.ts'
import { type JudgeDiff, keepJudge } from '../../workspace/verify/diff/judge-apart.ts'
import { type GateSettings, readGateSettings } from '../../workspace/verify/gate-settings.ts'
import type { VerifyRequest } from '../../workspace/verify/request.ts'
import { verify } from '../../workspace/verify/verify.ts'
import { removeWorktree } from '../../workspace/worktrees/remove-worktree.ts'
import { chosenAgent, type SupervisorContext } from '../context.ts'
import type { Proposals } from '../features/proposals.ts'
import { namesFor } from '../runs/models.ts'
import type { PrepareDeps } from '../session/prepare.ts'
import { secondAgent, settingsOfCaller } from '../session/settings.ts'
import { Completion } from './completion.ts'
import { type CompletionSettings, openTaskMerges, type RebaseOutcome } from './merge-queues.ts'
import { openVerifier } from './verifier.ts'
import { type FinishedWork, needsVerification } from './work.ts'

export interface CompletionHooks {
  ask: Proposals['ask']
  agentEnv: Record<string, string>
  wake(): void
  ended(run: string): void
  nudge(session: string): Promise<void>
}

/** Landing over the sessions of a floor: real gates, real git. */
export function openCompletion(
  supervisor: SupervisorContext,
  { ask, agentEnv, wake, nudge, ended }: CompletionHooks,
): Completion {
  const { store, clock } = supervisor.deps
  const { log } = supervisor
  const verifying = { supervisor, guard: openGuard(), judgeDiff: keepJudge(), ask, envOf }
  const again = new Map<string, AbortController>()
  const merges = openTaskMerges({
    supervisor,
    settingsOf: ({ session }) => settingsOf(session),
    verifyAgain: (work, place) => verifyAgain(work, place),
    interrupt: task => again.get(task)?.abort(),
    removeWorktree: async (place, options) => {
      const config = await configOfPlace(place)
      const root = config.worktrees.directory ?? join(supervisor.prepareDeps.paths.home, 'worktrees')
      const deps = { store, clock, log, root, env: supervisor.prepareDeps.env, settings: config.worktrees }
      return removeWorktree(place, deps, options)
    },
    propose: openPullRequestProposer(supervisor.prepareDeps.env),
    batch: async lane => {
      const [first] = await store.merges.list({ lane, states: ['queued', 'waiting'] })
      return first ? (await configFor(first.project)).merge.batch : 1
    },
  })
  return new Completion({
    ...{ supervisor, merges, settingsOf, wake, nudge, ended, finishRebase, commit: commitWork },
    verify: (work, round, signal) => verifyWork(work, { round, signal }, verifying),
    atOnce: Math.max(1, Math.floor(availableParallelism() / 2)),
  })

  async function settingsOf(session: SessionRow): Promise<CompletionSettings> {
    const { gates, merge } = await configForSession(session, supervisor.prepareDeps)
    const { mode, strategy, review } = merge
    return { rounds: gates.rounds, merge: { mode, strategy, review: review === 'required' } }
  }

  /** What its agent and its run were started with: a run has what other agents need, too. */
  function envOf({ session, task }: FinishedWork): Record<string, string> {
    const ofRun = task.run_id === null ? undefined : supervisor.kept.of(task.run_id)
    const own = supervisor.kept.of(session.id)
    return ofRun || own ? { ...ofRun, ...own } : agentEnv
  }

  /** On what the queue has made of it; a verification of its own, by number. */
  async function verifyAgain(work: FinishedWork, place: Worktree): Promise<VerificationResult> {
    if (!needsVerification(work)) return NOT_VERIFIED
    const round = await store.transaction(async tx => {
      const session = (await store.sessions.get(work.session.id, tx)) ?? work.session
      const landing = { ...work.note, ...session.options.landing }
      const verified = landing.verified + 1
      await store.sessions.update(
        session.id,
        { options: { ...session.options, landing: { ...landing, verified } } },
        tx,
      )
      return verified
    })
    const ending = new AbortController()
    again.set(work.task.id, ending)
    const signal = AbortSignal.any([ending.signal, supervisor.closing])
    const result = await verifyWork({ ...work, place }, { round, signal }, verifying).finally(() =>
      again.delete(work.task.id),
    )
    // It stays in the queue, and is tried again.
    if ('later' in result) throw new AppError('account_limited', { until: '' })
    return result
  }

  function configFor(project: string) {
    return configForSession({ project, options: { project, task: '' } }, supervisor.prepareDeps)
  }

  async function configOfPlace(place: Worktree) {
    const row = await store.worktrees.get(place)
    return configFor(row?.project ?? place.directory)
  }
}

/** Of work that is not to be verified nobody asks more in the queue either. */
const NOT_VERIFIED: VerificationResult = {
  ...{ status: 'passed', isProven: false, commit: null, tree: null, checks: [], findings: [], next_steps: [] },
}

async function finishRebase({ place }: FinishedWork): Promise<RebaseOutcome> {
  const done = place ? await continueRebase(place) : ({ kind: 'none' } as const)
  switch (done.kind) {
    case 'conflict':
      return { kind: 'conflict', conflict: done.conflict, missing: [] }
    case 'unresolved':
      return { kind: 'conflict', conflict: done.conflict, missing: done.missing }
    case 'broken':
      return { kind: 'broken', why: done.why }
    default:
      return { kind: 'whole' }
  }
}

async function commitWork({ place, task }: FinishedWork): Promise<{ head: string } | { problem: string }> {
  if (!place) return { problem: 'it has no worktree, so there is nothing to merge' }
  const done = await commitLeftovers(place, task.title)
  return done.ok ? { head: done.commit } : { problem: done.finding.text }
}

export interface VerifyWorkDeps {
  supervisor: SupervisorContext
  guard: ProcessGuard
  judgeDiff: JudgeDiff
  ask: Proposals['ask']
  /** What its agent was started with. */
  envOf(work: FinishedWork): Record<string, string>
}

/** An account that is shut is asked again after so long, if nobody says so before. */
const SHUT_MS = 60_000

/** Runs the gates of a project on work as it lies there, with a reading agent where they want one. */
async function verifyWork(
  work: FinishedWork,
  { round, signal }: { round: number; signal: AbortSignal },
  { supervisor, guard, judgeDiff, ask, envOf }: VerifyWorkDeps,
): Promise<VerificationResult | { later: number }> {
  const { store, clock } = supervisor.deps
  const { task, session } = work
  const place = work.place && { ...work.place, base: await baseOf(work.place) }
  const { paths } = supervisor.prepareDeps
  const loaded = await loadConfigFor(session, supervisor.prepareDeps)
  const { config } = loaded
  const chosen = chosenAgent(session)
  const env = envOf(work)
  let isShut = false
  const judgeOf = (agent: AgentChoice) =>
    openVerifier(
      { ask, stateOf },
      {
        request: { ...settingsOf(work), chosen: agent, project: session.project, place, env, task_id: task.id },
        names: namesFor(agent, loaded),
        shut: () => {
          isShut = true
        },
      },
    )
  const second = secondAgent(chosen, loaded, session.project)
  const directory = place?.directory ?? session.project
  const gates = readGateSettings(config)
  const result = await verify(
    {
      ...{ place, directory, task, plan: session.plan, openChildren: task.children_open, round, signal },
      ...{ gates, began: session.options.began, dependencies: sourceOf(session.project, config) },
    },
    {
      store,
      clock,
      log: supervisor.log,
      paths,
      env,
      guard,
      judgeDiff,
      isolation: config.agents.isolation,
      judge: isWorthAsking(task, gates) ? judgeOf(chosen) : undefined,
      secondOpinion: second && judgeOf(second),
    },
  )
  return isShut && result.status === 'broken' ? { later: clock.now() + SHUT_MS } : result
}

/**
 * An agent that judges costs as much as one that works: where nobody asked for it, it looks at what somebody has written down. A
 * task without a criterion that no command proves stays unverified.
 */
function isWorthAsking({ acceptance }: FinishedWork['task'], { verifier, profile }: GateSettings): boolean {
  return verifier === 'on' || profile === 'deep' || acceptance.trim() !== ''
}

/** What a fresh worktree is set up with is what gates run with. */
function sourceOf(project: string, { worktrees: { setup, setup_seconds } }: Config): VerifyRequest['dependencies'] {
  return { project, setup, setupMs: setup_seconds * 1000 }
}

/** Where its settings come from, as for its session. */
function settingsOf({ session: { options } }: FinishedWork) {
  const { config, settings } = options
  return { ...(config !== undefined && { config }), ...(settings !== undefined && { settings }) }
}

/** Where its work begins now: its target may have moved, and it onto that. */
async function baseOf({ top, target, base }: Worktree): Promise<string> {
  const found = await git(top, ['merge-base', `refs/heads/${target}`, 'HEAD'])
  return found.ok ? found.stdout.trim() : base
}

/** One name for what is committed and what is not; nothing where there is no git. */
async function stateOf(directory: string): Promise<string | undefined> {
  const folder = await findGitFolder(directory)
  return folder && nameWorkTree(folder)
}

/** The settings in force for the work of a session: those of the shell it was started from, as its project may tighten them. */
async function configForSession(
  { project, options }: Pick<SessionRow, 'project' | 'options'>,
  deps: Pick<PrepareDeps, 'paths' | 'env'>,
): Promise<Config> {
  return (await loadConfigFor({ project, options }, deps)).config
}

/** The same, with where each of them came from. */
async function loadConfigFor(
  { project, options }: Pick<SessionRow, 'project' | 'options'>,
  deps: Pick<PrepareDeps, 'paths' | 'env'>,
): Promise<LoadedConfig> {
  const { paths, env } = settingsOfCaller(options, deps)
  const trusted = trustedFile(await trustStatus(paths, project))
  return loadConfig({ paths, env, project, trusted })
}
