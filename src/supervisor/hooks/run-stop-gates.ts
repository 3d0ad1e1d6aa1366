import { systemClock } from '../../base/clock.ts'
import type { NewEvidence, VerificationResult } from '../../domain/evidence.ts'
import { GATE_COMMANDS, type GateCommand } from '../../domain/option-values.ts'
import type { PlanItem } from '../../domain/session.ts'
import type { Task } from '../../domain/task.ts'
import type { GateResultStore } from '../../store/task-stores.ts'
import { commandSandboxes } from '../../workspace/command/plan-sandbox.ts'
import { nameWorkTree } from '../../workspace/git/checkout-state.ts'
import { git } from '../../workspace/git/git.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'
import type { GateSettings } from '../../workspace/verify/gate-settings.ts'
import type { Judge } from '../../workspace/verify/request.ts'
import { runAllGates } from '../../workspace/verify/run-gates.ts'
import { resultOf } from '../../workspace/verify/verify.ts'
import type { HookSettings } from './hook-settings.ts'
import type { HookContext } from './router.ts'

/** What a conversation works on, where that is known. */
export interface HookWork {
  /** Its acceptance criteria are checked. */
  task?: Pick<Task, 'id' | 'title' | 'description' | 'acceptance' | 'attempt'> | undefined
  /** Steps that the agent wrote down and that are not done. */
  open: readonly string[]
}

/** Agents that judge the work, where there are any. */
export interface HookJudges {
  judge?: Judge | undefined
  secondOpinion?: Judge | undefined
}

export interface StopGatesRequest {
  gates: GateSettings
  settings: HookSettings
  work: HookWork | undefined
  judges: HookJudges
  /** The commit at which the conversation began, with which tests are compared. */
  began: string | undefined
  tree: string | undefined
  /** The green results of earlier runs; without a store every gate runs. */
  results: GateResultStore | undefined
  context: HookContext
}

/**
 * Runs the gates of the profile on the project as it is: the commands that a person agreed to, tests against those of the
 * beginning, open tasks, acceptance criteria and judging agents. Nothing is committed, restored or recorded as the evidence of a
 * task. The changes themselves are not judged, because the person works in the same folder. Throws when its time is over.
 */
export async function runStopGates(request: StopGatesRequest): Promise<VerificationResult> {
  const { gates, settings, work, judges, began, results = NO_RESULTS, context } = request
  const { paths, project, env, signal } = context
  const tree = request.tree ?? null
  const task = work?.task ?? NO_TASK
  const plan = (work?.open ?? []).map((text): PlanItem => ({ text, state: 'pending' }))
  const asRow = (check: Omit<NewEvidence, 'task_id' | 'attempt' | 'round' | 'tree' | 'created_at'>): NewEvidence => {
    return { ...check, task_id: task.id, attempt: task.attempt, round: 1, tree, created_at: systemClock.now() }
  }
  const folder = await findGitFolder(project)
  const log = (line: string) => context.log.info({ project }, line)
  await using sandbox = commandSandboxes(settings.config, { project, paths, log })
  const checks = await runAllGates({
    request: { worktree: undefined, began, directory: project, task, plan, openChildren: 0, round: 1, gates, signal },
    deps: {
      ...{ store: { gateResults: results }, clock: systemClock, paths, env, ...judges },
      isolation: settings.config.agents.isolation,
      sandbox,
    },
    subject: { commit: null, tree, folder },
    ...{ ignored: [], watch: undefined, asRow, ignoresChanges: true },
  })
  signal.throwIfAborted()
  return resultOf(checks.filter(({ kind }) => kind !== 'diff').map(asRow), { commit: null, tree })
}

const NO_TASK = { id: '', title: '', description: '', acceptance: '', attempt: 0 }

const NO_RESULTS: GateResultStore = {
  get: () => Promise.resolve(undefined),
  put: () => Promise.resolve(),
  prune: () => Promise.resolve(),
}

/** Whether a subagent waits for a gate: for those that read the code and run none of it. */
const IS_CHEAP: Record<GateCommand, boolean> = { build: false, typecheck: true, lint: true, test: false }

/** The same settings with only the cheap gates. */
export function onlyCheapGates(gates: GateSettings): GateSettings {
  const commands = Object.fromEntries(
    GATE_COMMANDS.flatMap(name => (IS_CHEAP[name] && gates.commands[name] ? [[name, gates.commands[name]]] : [])),
  )
  return { ...gates, commands, verifier: 'off' }
}

/** One name for the files of a project, committed or not; undefined without git. */
export async function nameProjectTree(project: string): Promise<string | undefined> {
  const folder = await findGitFolder(project)
  return folder && nameWorkTree(folder)
}

/** The commit that is checked out; undefined without one. */
export async function readHead(project: string, signal: AbortSignal): Promise<string | undefined> {
  const folder = await findGitFolder(project)
  if (!folder) return undefined
  const head = await git(folder.top, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { signal })
  return head.ok ? head.stdout.trim() : undefined
}
