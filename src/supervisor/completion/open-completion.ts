import { availableParallelism } from 'node:os'
import { openGuard, type ProcessGuard } from '../../base/process/guardian.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { VerificationResult } from '../../domain/evidence.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { SessionRow } from '../../store/tables.ts'
import { commandSandboxes } from '../../workspace/command/plan-sandbox.ts'
import { nameWorkTree } from '../../workspace/git/checkout-state.ts'
import { git } from '../../workspace/git/git.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'
import { type JudgeDiff, keepJudge } from '../../workspace/verify/diff/judge-apart.ts'
import { type GateSettings, readGateSettings, verifierCommands } from '../../workspace/verify/gate-settings.ts'
import type { VerifyRequest } from '../../workspace/verify/request.ts'
import { findUnchecked, hasCheckCommands, withheldChecks } from '../../workspace/verify/unchecked.ts'
import { verify } from '../../workspace/verify/verify.ts'
import { chosenAgent, type SupervisorContext } from '../context.ts'
import type { Proposals } from '../features/proposals.ts'
import { modelNamesFor } from '../runs/models.ts'
import type { PrepareDeps } from '../session/prepare.ts'
import { secondAgent, settingsOfCaller } from '../session/settings.ts'
import { Completion } from './completion.ts'
import type { CompletionSettings } from './context.ts'
import { openVerifier } from './verifier.ts'
import type { FinishedWork } from './work.ts'

export interface CompletionHooks {
  ask: Proposals['ask']
  agentEnv: Record<string, string>
  wake(): void
  wakeRun(run: string): void
  nudge(session: string): Promise<void>
}

/** Opens completion for the sessions of a supervisor, with real gates and real git. */
export function openCompletion(
  supervisor: SupervisorContext,
  { ask, agentEnv, wake, nudge, wakeRun }: CompletionHooks,
): Completion {
  const { store } = supervisor.deps
  const verifyDeps = { supervisor, guard: openGuard(), judgeDiff: keepJudge(), ask, envOf }
  return new Completion({
    ...{ supervisor, settingsOf, wake, nudge, wakeRun },
    verify: (work, round, signal) => verifyWork(work, { round, signal }, verifyDeps),
    describeUnproven: async ({ session }, { findings }) => {
      if (findings.some(({ code }) => code === 'diff.empty'))
        return { why: 'It changed nothing, and no verifier has said that there was nothing to do' }
      const loaded = await loadConfigFor(session, supervisor.prepareDeps)
      const unchecked = await findUnchecked(loaded, session.project)
      if (!unchecked) return { why: 'Nothing has checked it' }
      const { says, fix } = unchecked
      return { why: `Nothing has checked it: ${says}. To have it checked: ${fix}`, fix }
    },
    batchOf: async queue => {
      const [first] = await store.merges.list({ queue, states: ['queued', 'waiting'] })
      if (!first) return 1
      const options = { project: first.project, task: '' }
      return (await configForSession({ project: first.project, options }, supervisor.prepareDeps)).merge.batch
    },
    atOnce: Math.max(1, Math.floor(availableParallelism() / 2)),
  })

  async function settingsOf(session: SessionRow): Promise<CompletionSettings> {
    const loaded = await loadConfigFor(session, supervisor.prepareDeps)
    const { config } = loaded
    const { mode, strategy, review } = config.merge
    const gates = readGateSettings(config)
    return {
      ...{
        rounds: gates.rounds,
        verify: config.execution.verify,
        checks: withheldChecks(loaded).length === 0 && hasCheckCommands(gates),
      },
      allowsUnproven: gates.unproven === 'allow',
      allowsKnownFailures: gates.knownFailures === 'allow',
      merge: { mode, strategy, review: review === 'required' },
    }
  }

  /** The environments of the session and of its run: the run's also has what other agents need. */
  function envOf({ session, task }: FinishedWork): Record<string, string> {
    const runEnv = task.run_id === null ? undefined : supervisor.kept.of(task.run_id)
    const sessionEnv = supervisor.kept.of(session.id)
    return runEnv || sessionEnv ? { ...runEnv, ...sessionEnv } : agentEnv
  }
}

export interface VerifyWorkDeps {
  supervisor: SupervisorContext
  guard: ProcessGuard
  judgeDiff: JudgeDiff
  ask: Proposals['ask']
  /** The environment that the work's agent was started with. */
  envOf(work: FinishedWork): Record<string, string>
}

/** The wait before a closed account is tried again, if nothing else triggers that earlier. */
const CLOSED_RETRY_MS = 60_000

/** A verifier needs git to tell whether what it judges stays as it is. Without git a person is asked in its place. */
async function readGatesFor(directory: string, config: Config): Promise<GateSettings> {
  const gates = readGateSettings(config)
  return (await findGitFolder(directory)) ? gates : { ...gates, verifier: 'off' }
}

/** Runs the gates of a project on the work as it is now, with a reading agent where the gates call for one. */
async function verifyWork(
  work: FinishedWork,
  { round, signal }: { round: number; signal: AbortSignal },
  { supervisor, guard, judgeDiff, ask, envOf }: VerifyWorkDeps,
): Promise<VerificationResult | { later: number }> {
  const { store, clock } = supervisor.deps
  const { task, session } = work
  const worktree = work.worktree && { ...work.worktree, base: await findBase(work.worktree) }
  const { paths } = supervisor.prepareDeps
  const loaded = await loadConfigFor(session, supervisor.prepareDeps)
  const { config } = loaded
  const chosen = chosenAgent(session)
  const env = envOf(work)
  const directory = worktree?.directory ?? session.project
  const gates = await readGatesFor(directory, config)
  let isAccountClosed = false
  const openJudge = (agent: AgentChoice) =>
    openVerifier(
      { ask, stateOf },
      {
        request: {
          ...{ ...callerSettings(work), chosen: agent, project: session.project, place: worktree, env },
          ...{ task_id: task.id, commands: verifierCommands(gates) },
        },
        names: modelNamesFor(agent, loaded),
        accountClosed: () => {
          isAccountClosed = true
        },
      },
    )
  const second = secondAgent(chosen, loaded, session.project)
  const unchecked = await findUnchecked(loaded, session.project)
  await using sandbox = commandSandboxes(config, {
    ...{ project: session.project, paths },
    log: line => supervisor.log.info({ task: task.id }, line),
  })
  const result = await verify(
    {
      ...{ worktree, directory, task, plan: session.plan, openChildren: task.children_open, round, signal },
      ...{ gates, began: session.options.began, dependencies: dependencySource(session.project, config) },
      withheld: gates.unproven === 'ask' && unchecked !== undefined && unchecked.why !== 'none',
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
      sandbox,
      judge: openJudge(chosen),
      secondOpinion: second && openJudge(second),
    },
  )
  return isAccountClosed && result.status === 'broken' ? { later: clock.now() + CLOSED_RETRY_MS } : result
}

/** Gates run with the same set-up as a fresh worktree. */
function dependencySource(
  project: string,
  { worktrees: { setup, setup_seconds } }: Config,
): VerifyRequest['dependencies'] {
  return { project, setup, setupMs: setup_seconds * 1000 }
}

/** The settings that the session was started with. */
function callerSettings({ session: { options } }: FinishedWork) {
  const { config, settings } = options
  return { ...(config !== undefined && { config }), ...(settings !== undefined && { settings }) }
}

/** The commit that the work builds on now: the target may have moved, and the work may have been rebased onto it. */
async function findBase({ top, target, base }: Worktree): Promise<string> {
  const mergeBase = await git(top, ['merge-base', `refs/heads/${target}`, 'HEAD'])
  return mergeBase.ok ? mergeBase.stdout.trim() : base
}

/** One name for the state of a directory, committed or not; undefined if there is no git. */
async function stateOf(directory: string): Promise<string | undefined> {
  const folder = await findGitFolder(directory)
  return folder && nameWorkTree(folder)
}

/** The settings for the work of a session: those of the shell that started it, which the project may tighten. */
async function configForSession(
  { project, options }: Pick<SessionRow, 'project' | 'options'>,
  deps: Pick<PrepareDeps, 'paths' | 'env'>,
): Promise<Config> {
  return (await loadConfigFor({ project, options }, deps)).config
}

/** The same, with the origin of each setting. */
async function loadConfigFor(
  { project, options }: Pick<SessionRow, 'project' | 'options'>,
  deps: Pick<PrepareDeps, 'paths' | 'env'>,
): Promise<LoadedConfig> {
  const { paths, env } = settingsOfCaller(options, deps)
  const trusted = trustedFile(await trustStatus(paths, project))
  return loadConfig({ paths, env, project, trusted })
}
