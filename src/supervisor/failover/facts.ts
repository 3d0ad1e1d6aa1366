import type { Admission } from '../../agents/limits/gates.ts'
import { manifestOf } from '../../agents/manifests/manifests.ts'
import { AppError } from '../../base/errors.ts'
import type { AgentChoice } from '../../domain/agents/choice.ts'
import type { SessionRow } from '../../store/tables.ts'
import { type Floor, prepareFor } from '../floor.ts'
import type { AgentFacts } from './choose-next.ts'

/** One agent of the order as it is now, and the account that it would use. */
export interface Looked extends AgentFacts {
  choice: AgentChoice
  account: string | undefined
}

interface Look {
  row: SessionRow
  env: Record<string, string>
  order: AgentChoice[]
  floor: Floor
}

/** What is known of every agent of the order for this session: each is prepared as if it were to begin, and refused as it would be then. */
export async function lookAtAgents({ row, env, order, floor }: Look): Promise<Looked[]> {
  const looked: Looked[] = []
  for (const choice of order) looked.push(await lookAt(choice, { row, env, floor }))
  return looked
}

async function lookAt(choice: AgentChoice, { row, env, floor }: Omit<Look, 'order'>): Promise<Looked> {
  const { name } = choice
  const { options, agent, account } = row
  const handed = options.handed
  const rests = handed?.resting.find(each => each.choice.name === name)
  const leftAt = rests?.left_at
  // One that cannot go on with a conversation would be told that it is back, and know of nothing.
  const talks = typeof rests?.vendor_id === 'string' && manifestOf(choice).resume !== 'none'
  const known = { name, choice, leftAt, talks, account: name === agent ? (account ?? undefined) : undefined }
  if (handed?.broken.includes(name)) return { ...known, opensAt: undefined, refused: 'it could not begin here' }
  if (name === agent) return { ...known, opensAt: opening(await floor.parts.accounts.admits({ row })) }
  try {
    const { model: _, agent: __, resume: ___, ...rest } = options
    const ready = await prepareFor({ ...rest, chosen: choice, project: row.project, env }, floor)
    const admission = await floor.parts.accounts.admits({ row: { ...row, account: ready.account } })
    const refused = ready.heldEnough ? undefined : `${ready.manifest.name} is not held enough to work alone`
    return { ...known, account: ready.account, opensAt: opening(admission), refused }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ...known, opensAt: undefined, refused: error.message }
  }
}

/** One that is open has been so for ever: clocks go on between two looks. */
function opening(admission: Admission): number | undefined {
  if (admission.open) return 0
  return admission.why === 'held' ? undefined : admission.until
}
