import { isSettled } from '../../domain/human/is-settled.ts'
import { bringAnswer, isDue } from '../human/bring-answer.ts'
import type { World } from '../world.ts'

/** Brings answers to sessions that an earlier daemon had settled and died before the agent heard of them. */
export async function deliverAnswers(world: World): Promise<void> {
  for (const row of await world.store.sessions.list()) {
    const number = isDue(row) ? row.parked?.number : undefined
    if (number === undefined) continue
    const settled = await world.store.escalations.get(number)
    if (!settled || !isSettled(settled)) continue
    const story = `The daemon died before the answer to decision ${number} reached the agent`
    await bringAnswer({ row, settled, story, envs: [world.supervisor.envOf(row.id)] }, world)
  }
}
