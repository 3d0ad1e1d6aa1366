import { accountsMeant, type QuotaView, type TriedAccount } from '../../domain/account/quota.ts'
import { counted, wakeTime } from '../render/format.ts'
import { firstLine } from '../render/text.ts'

/** What came of `pcc quota release`: who goes on, or what still keeps the accounts closed. */
export function releaseLines(view: QuotaView, ref: string | undefined): string[] {
  const { tried, hold } = view
  const held = hold ? ['Nothing goes on while everything is held. Let it go with: pcc quota release'] : []
  if (tried?.length === 0) return ['No limit keeps it closed, and nobody waits for it.', ...held]
  if (tried) return [...tried.map(each => triedLine(each, view)), ...held]
  const accounts = ref === undefined ? view.accounts : accountsMeant(ref, view.accounts)
  return [...accounts.flatMap(account => [...heldLines(account), ...closedLines(account, view.at)]), ...held]
}

function triedLine({ account, sessions }: TriedAccount, { accounts }: QuotaView): string {
  const label = firstLine(accounts.find(each => each.account === account)?.label ?? account)
  const [first, ...others] = sessions
  if (first === undefined) return `${label} is open. No session waits to go on by itself.`
  const after = others.length === 0 ? '' : ` ${counted(others.length, 'more session')} after it, if it gets through.`
  return `${label} is open. Tried now by ${first}.${after}`
}

/** Let go of all is not let go of one that is held by itself. */
function heldLines({ account, label, gate }: QuotaView['accounts'][number]): string[] {
  return gate?.held ? [`${firstLine(label)} is held by itself: pcc quota release --account ${account.slice(0, 6)}`] : []
}

function closedLines({ account, label, gate }: QuotaView['accounts'][number], at: number): string[] {
  if (!gate || gate.closed_until === null || gate.closed_until <= at) return []
  return [
    `A limit keeps ${firstLine(label)} closed until ${wakeTime(gate.closed_until, at)}.`,
    `Is it over already? Try now: pcc quota release --account ${account.slice(0, 6)} --now`,
  ]
}
