import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { accountsMeant, type QuotaView } from '../../domain/account/quota.ts'
import type { SessionView } from '../../domain/api.ts'
import { openClient } from '../client.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import { sessionPath } from '../connection/session-path.ts'
import { contextOf } from '../context.ts'
import { nameOf } from '../render/format.ts'
import { firstLine } from '../render/text.ts'
import { quotaPage } from './page.ts'
import { releaseLines } from './release-lines.ts'
import { watchQuota } from './watch.ts'

interface HoldOptions {
  account?: string
  now?: boolean
}

/** `pcc quota`: how full the accounts are, and a person's hand on them. */
export function addQuotaCommand(program: Command): void {
  const quota = program
    .command('quota')
    .description('Show how full your accounts are, what comes of it, and which sessions wait.')
    .option('--watch', 'keep showing it until Ctrl+C')
    .option('--json', 'print JSON; with --watch one line for each change')
    .action(async ({ watch }: { watch?: boolean }, command: Command) => {
      const context = await contextOf(command)
      const client = await openClient(context.places, context)
      if (watch) return watchQuota(client, context)
      const view = await client.request<QuotaView>('GET', '/quota')
      if (context.json) return context.out(JSON.stringify(view, null, 2))
      for (const line of quotaPage(view, context.terminal)) context.out(line)
    })
  addSwitch(quota, 'hold', 'Keep sessions from going on by themselves: one, those of an account, or all.')
  addSwitch(quota, 'release', 'Let them go on again.').option(
    '--now',
    'also open what a limit has closed, and try: the limit is over before its time',
  )
}

function addSwitch(quota: Command, name: 'hold' | 'release', description: string): Command {
  return quota
    .command(name)
    .description(description)
    .argument('[session]', 'id, unique beginning of an id, or name; "all" is what holds without it', 'all')
    .option('--account <account>', 'all sessions of this account: its id, or a part of its label')
    .option('--json', 'print JSON')
    .action(async (ref: string, { account, now }: HoldOptions, command: Command) => {
      const usage = (problem: string) => new AppError('usage', { problem, command: `quota ${name}` })
      if (account !== undefined && ref !== 'all') throw usage('give a session or --account, not both')
      if (now && ref !== 'all') throw usage('--now is for accounts: a limit holds for all sessions of one')
      const { places, json, out, ...context } = await contextOf(command)
      refuseInSession(context.env, `quota ${name}`)
      const client = await openClient(places, context)
      const held = name === 'hold'
      if (ref !== 'all') {
        const path = await sessionPath(ref)
        const before = await client.request<SessionView>('GET', path)
        const session = await client.request<SessionView>('POST', `${path}/hold`, { held })
        if (json) return out(JSON.stringify(session, null, 2))
        const did = held || before.held === 'session' ? verb(held) : 'It was not held'
        return out(`${did}: ${nameOf(session)}`)
      }
      const body = { ...(account !== undefined && { account }), ...(now && { now }) }
      const before = await client.request<QuotaView>('GET', '/quota')
      const view = await client.request<QuotaView>('POST', `/quota/${name}`, body)
      if (json) return out(JSON.stringify(view, null, 2))
      const did = held || now || isHeld(before, account) ? verb(held) : 'Nothing was held'
      out(`${did}: ${account === undefined ? 'all accounts' : firstLine(account)}`)
      const undo = account === undefined ? '' : ` --account ${firstLine(account)}`
      if (held) return out(`Let it go with: pcc quota release${undo}`)
      for (const line of releaseLines(view, account)) out(line)
    })
}

function isHeld({ hold, accounts }: QuotaView, account: string | undefined): boolean {
  return account === undefined ? hold !== null : accountsMeant(account, accounts).some(({ gate }) => gate?.held)
}

function verb(held: boolean): string {
  return held ? 'Held' : 'Released'
}
