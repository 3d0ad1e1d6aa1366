import type { Guard } from '../../base/process/guardian.ts'
import type { AgentChoice } from '../../domain/agents/choice.ts'
import type { Config } from '../../domain/config/config.ts'
import type { VerificationResult } from '../../domain/workspace/evidence.ts'
import type { Place } from '../../domain/workspace/place.ts'
import { git } from '../../workspace/git/git.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'
import type { JudgeDiff } from '../../workspace/verify/diff/worker/judge-apart.ts'
import { type GateSettings, gatesIn } from '../../workspace/verify/gate-settings.ts'
import type { VerifyRequest } from '../../workspace/verify/request.ts'
import { nameWorkTree } from '../../workspace/verify/tree/work-tree.ts'
import { verify } from '../../workspace/verify/verify.ts'
import { agentOf, type Floor } from '../floor.ts'
import { namesFor } from '../models/model-names.ts'
import type { Proposals } from '../proposals/proposals.ts'
import { judgeWith } from '../verifier/judge.ts'
import { secondAgent } from '../verifier/second-agent.ts'
import { loadedFor } from './settings.ts'
import type { Work } from './work.ts'

export interface VerifyingParts {
  floor: Floor
  guard: Guard
  judgeDiff: JudgeDiff
  ask: Proposals['ask']
  /** What its agent was started with. */
  envOf(work: Work): Record<string, string>
}

/** An account that is shut is asked again after so long, if nobody says so before. */
const SHUT_MS = 60_000

/** Runs the gates of a project on work as it lies there, with a reading agent where they want one. */
export async function verifyWork(
  work: Work,
  { round, signal }: { round: number; signal: AbortSignal },
  { floor, guard, judgeDiff, ask, envOf }: VerifyingParts,
): Promise<VerificationResult | { later: number }> {
  const { store, clock } = floor.parts
  const { task, session } = work
  const place = work.place && { ...work.place, base: await baseOf(work.place) }
  const { places } = floor.prepareParts
  const loaded = await loadedFor(session, floor.prepareParts)
  const { config } = loaded
  const chosen = agentOf(session)
  const env = envOf(work)
  let isShut = false
  const judgeOf = (agent: AgentChoice) =>
    judgeWith(
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
  const gates = gatesIn(config)
  const result = await verify(
    {
      ...{ place, directory, task, plan: session.plan, openChildren: task.children_open, round, signal },
      ...{ gates, began: session.options.began, dependencies: sourceOf(session.project, config) },
    },
    {
      store,
      clock,
      log: floor.log,
      places,
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
function isWorthAsking({ acceptance }: Work['task'], { verifier, profile }: GateSettings): boolean {
  return verifier === 'on' || profile === 'deep' || acceptance.trim() !== ''
}

/** What a fresh worktree is set up with is what gates run with. */
function sourceOf(project: string, { worktrees: { setup, setup_seconds } }: Config): VerifyRequest['dependencies'] {
  return { project, setup, setupMs: setup_seconds * 1000 }
}

/** Where its settings come from, as for its session. */
function settingsOf({ session: { options } }: Work) {
  const { config, settings } = options
  return { ...(config !== undefined && { config }), ...(settings !== undefined && { settings }) }
}

/** Where its work begins now: its target may have moved, and it onto that. */
async function baseOf({ top, target, base }: Place): Promise<string> {
  const found = await git(top, ['merge-base', `refs/heads/${target}`, 'HEAD'])
  return found.ok ? found.stdout.trim() : base
}

/** One name for what is committed and what is not; nothing where there is no git. */
async function stateOf(directory: string): Promise<string | undefined> {
  const folder = await findGitFolder(directory)
  return folder && nameWorkTree(folder)
}
