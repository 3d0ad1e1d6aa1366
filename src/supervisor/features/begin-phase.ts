import { AppError } from '../../base/errors.ts'
import type { StartSession } from '../../domain/api.ts'
import { brainKeysIn } from '../../domain/config/environment-layer.ts'
import type { WorkPhase } from '../../domain/features/feature.ts'
import type { FeatureRow } from '../../store/features/rows.ts'
import type { BoundTask } from '../start/start-session.ts'
import { materialOf } from './material.ts'
import type { FeaturesParts } from './parts.ts'
import { phasePrompt } from './prompts.ts'

const TITLES: Record<WorkPhase, string> = {
  interview: 'Interview about',
  spec: 'Write the spec of',
  plan: 'Plan',
  tasks: 'Add the tasks of',
}

/** Starts the session of the phase that a feature is at. That it is at it is written together with its row. */
export async function beginPhase(
  row: FeatureRow,
  { attach, ...parts }: FeaturesParts & { attach?: boolean | undefined },
): Promise<void> {
  const { store, tasks, kept, agentEnv, clock } = parts
  const { id, project, name, phase, options } = row
  if (phase === 'ready') return
  const prompt = phasePrompt(phase, await materialOf(row, store))
  const env = kept.of(id) ?? agentEnv
  const keys = brainKeysIn(env)
  const { settings, ...session } = options
  const title = `${TITLES[phase]} the feature ${name}`
  const request: StartSession = {
    ...{ ...session, project, task: prompt, name: `${name}-${phase}`, env },
    ...((settings || Object.keys(keys).length > 0) && { settings: { ...settings, ...keys } }),
    ...(attach && { attach }),
  }
  const take: BoundTask['take'] = async (started, tx) => {
    const now = await store.features.get(id, tx)
    // Of two who begin it in one moment only one does, and nobody begins what was deleted meanwhile.
    if (now?.phase !== phase || now.session_id !== row.session_id) throw new AppError('feature_moved', { name })
    await store.features.update(id, { session_id: started.id, problem: null, updated_at: clock.now() }, tx)
    return tasks.submit({ session_id: started.id, project, title, text: prompt, type: 'feature' }, tx)
  }
  await parts.start(request, { feature: { id, name, phase }, text: title, take })
}
