import { PROFILES, verifierCommands } from '../../workspace/verify/gate-settings.ts'
import { openVerifier } from '../completion/verifier.ts'
import type { Proposals } from '../features/proposals.ts'
import { modelNamesFor } from '../runs/models.ts'
import { agentFor, secondAgent } from '../session/settings.ts'
import type { HookSettings } from './hook-settings.ts'
import type { HookContext } from './router.ts'
import { type HookJudges, nameProjectTree } from './run-stop-gates.ts'

export interface StopJudgeDeps {
  ask: Proposals['ask']
  /** The environment that a judging agent starts with. */
  env: Record<string, string>
}

/**
 * The agents that judge the work of an agent that says that it is done: the agent of the settings, and another one for a second opinion.
 * They only read, their model follows the size and the risk of the change, and none is opened where the profile asks none.
 */
export function openStopJudges(
  { ask, env }: StopJudgeDeps,
  { project }: Pick<HookContext, 'project'>,
  { gates, loaded }: HookSettings,
): HookJudges {
  if (!gates) return {}
  const worker = agentFor({ project }, loaded)
  const open = (chosen: typeof worker) =>
    openVerifier(
      { ask, stateOf: nameProjectTree },
      {
        request: { project, chosen, env, commands: verifierCommands(gates) },
        names: modelNamesFor(chosen, loaded),
        accountClosed: () => {}, // its opinion is then broken, and the person is told so
      },
    )
  const second = secondAgent(worker, loaded, project)
  const isAsked = gates.verifier === 'on' || (gates.verifier === 'auto' && PROFILES[gates.profile].verifier !== 'never')
  return { ...(isAsked && { judge: open(worker) }), ...(second && { secondOpinion: open(second) }) }
}
