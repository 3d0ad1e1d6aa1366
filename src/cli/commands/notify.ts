import { type Command, Option } from 'commander'
import { AppError } from '../../base/errors.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { ChannelName, NotifyMessage, NotifySettings } from '../../human/notify/notice.ts'
import { type CommandContext, contextOf, ExitCode } from '../context.ts'
import { neutral } from '../render/text.ts'

/** `pcc notify test`: a message on every channel that is set up, and whether it arrived. */
export function addNotifyCommand(program: Command): void {
  program
    .command('notify')
    .description('Try out how you are told what happens.')
    .command('test')
    .description('Send a test message on every channel that is set up (exit code 1 if one fails).')
    .addOption(new Option('--channel <name>', 'only this one').choices(CHANNELS))
    .option('--json', 'print JSON')
    .action(async ({ channel }: { channel?: string }, command: Command) => sendTest(channel, await contextOf(command)))
}

const CHANNELS: readonly ChannelName[] = ['desktop', 'bell', 'ntfy', 'slack', 'telegram']

interface Tried {
  channel: ChannelName
  ok: boolean
  problem?: string
}

async function sendTest(only: string | undefined, context: CommandContext): Promise<void> {
  const { env, paths, json, out } = context
  const { config } = await loadConfig({ paths, env })
  const settings = config.notifications
  const { setUpOf } = await import('../../human/notify/channel-setup.ts')
  const { channels, problems } = setUpOf(settings, env)
  const wanted = channels.filter(name => only === undefined || name === only)
  const broken = problems.filter(({ channel }) => only === undefined || channel === only)
  if (!settings.enabled) throw new AppError('notify_not_set_up', { problem: 'notifications.enabled is false' })
  if (wanted.length + broken.length === 0) {
    const problem = only === undefined ? 'no channel is set up' : `the channel ${JSON.stringify(only)} is not set up`
    throw new AppError('notify_not_set_up', { problem })
  }
  const tried: Tried[] = [
    ...(await Promise.all(wanted.map(name => sendOn(name, context, settings)))),
    ...broken.map(({ channel, problem }) => ({ channel, ok: false, problem })),
  ]
  if (json) out(JSON.stringify({ channels: tried }, null, 2))
  else for (const line of tried.map(resultLine)) out(line)
  if (tried.some(({ ok }) => !ok)) throw new ExitCode(1)
}

async function sendOn(channel: ChannelName, { env, json }: CommandContext, settings: NotifySettings): Promise<Tried> {
  const { openChannel } = await import('../../human/notify/open-channel.ts')
  const ring = async () => void (process.stdout.isTTY && !json && process.stdout.write('\x07'))
  const message: NotifyMessage = {
    kind: 'complete',
    title: 'PerpetualCC: test',
    text: 'This is how you will be told what happens.',
    sound: settings.sound,
  }
  const opened = await openChannel(channel, { settings, env, ring })
  const sent = await opened.send(message, new AbortController().signal)
  return sent.ok ? { channel, ok: true } : { channel, ok: false, problem: sent.problem }
}

function resultLine({ channel, ok, problem }: Tried): string {
  return ok ? `${channel}: sent` : `${channel}: failed: ${neutral(problem ?? '')}`
}
