import { type Command, Option } from 'commander'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { CHANNELS, type ChannelName } from '../../domain/option-values.ts'
import type { NotifyMessage, NotifySettings } from '../../human/notify/notice.ts'
import { type CommandContext, commandContext, ExitCode } from '../context.ts'

/** `pcc notify test`: sends a message on every channel that is set up and shows whether that worked. */
export function addNotifyCommand(program: Command): void {
  program
    .command('notify')
    .description('Try out your notifications')
    .command('test')
    .description('Send a test message on every channel that is set up (exit code 1 if one fails)')
    .addOption(new Option('--channel <name>', 'only this channel').choices(CHANNELS))
    .option('--json', 'print JSON')
    .action(async ({ channel }: { channel?: string }, command: Command) =>
      sendTest(channel, await commandContext(command)),
    )
}

interface ChannelTest {
  channel: ChannelName
  ok: boolean
  problem?: string
}

async function sendTest(only: string | undefined, context: CommandContext): Promise<void> {
  const { env, paths, json, out } = context
  const settings = await loadFilled({ env, paths })
  const { readChannelSetup } = await import('../../human/notify/channel-setup.ts')
  const { channels, problems } = readChannelSetup(settings, env)
  const working = channels.filter(name => only === undefined || name === only)
  const broken = problems.filter(({ channel }) => only === undefined || channel === only)
  if (!settings.enabled) throw new AppError('notify_not_set_up', { problem: 'notifications.enabled is false' })
  if (working.length + broken.length === 0) {
    const problem = only === undefined ? 'no channel is set up' : `the channel ${JSON.stringify(only)} is not set up`
    throw new AppError('notify_not_set_up', { problem })
  }
  const results: ChannelTest[] = [
    ...(await Promise.all(working.map(name => testChannel(name, context, settings)))),
    ...broken.map(({ channel, problem }) => ({ channel, ok: false, problem })),
  ]
  if (json) out(JSON.stringify({ channels: results }, null, 2))
  else for (const line of results.map(resultLine)) out(line)
  if (results.some(({ ok }) => !ok)) throw new ExitCode(1)
}

/** Sends a message on every channel that is set up, and returns those on which it arrived. */
export async function tellPerson(message: NotifyMessage, { env, paths }: CommandContext): Promise<ChannelName[]> {
  const settings = await loadFilled({ env, paths })
  const [{ readChannelSetup }, { openChannel }] = await Promise.all([
    import('../../human/notify/channel-setup.ts'),
    import('../../human/notify/open-channel.ts'),
  ])
  const { channels } = readChannelSetup(settings, env)
  const sent = await Promise.all(
    (settings.enabled ? channels : []).map(async name => {
      const channel = await openChannel(name, { settings, env, ring: async () => undefined })
      const { ok } = await channel.send(message, AbortSignal.timeout(SEND_MS))
      return ok && name !== 'bell' ? [name] : []
    }),
  )
  return sent.flat()
}

const SEND_MS = 60_000

/** The settings of notifications, with the secrets that they name. */
async function loadFilled({ env, paths }: Pick<CommandContext, 'env' | 'paths'>): Promise<NotifySettings> {
  const { config } = await loadConfig({ paths, env, project: null })
  const [{ openSecrets }, { fillSecrets }] = await Promise.all([
    import('../../domain/config/open-secrets.ts'),
    import('../../domain/config/secret-references.ts'),
  ])
  return (await fillSecrets(config, openSecrets({ paths, env }))).notifications
}

async function testChannel(
  channel: ChannelName,
  { env, json }: CommandContext,
  settings: NotifySettings,
): Promise<ChannelTest> {
  const { openChannel } = await import('../../human/notify/open-channel.ts')
  const ring = async () => void (process.stdout.isTTY && !json && process.stdout.write('\x07'))
  const message: NotifyMessage = {
    kind: 'complete',
    title: 'PerpetualCC: test',
    text: 'This is how you will be notified.',
    sound: settings.sound,
  }
  const opened = await openChannel(channel, { settings, env, ring })
  const result = await opened.send(message, new AbortController().signal)
  return result.ok ? { channel, ok: true } : { channel, ok: false, problem: result.problem }
}

function resultLine({ channel, ok, problem }: ChannelTest): string {
  return ok ? `${channel}: sent` : `${channel}: failed: ${neutral(problem ?? '')}`
}
