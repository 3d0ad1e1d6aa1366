import { unreachable } from '../../base/errors.ts'
import type { Channel, ChannelName, NotifySettings } from './notice.ts'
import { secretOf } from './set-up.ts'

export interface OpenChannel {
  settings: NotifySettings
  env: Record<string, string | undefined>
  /** Rings at attached terminals. */
  ring(text: string): Promise<void>
}

/** Opens a channel that is set up; its code is loaded now. */
export async function openChannel(name: ChannelName, { settings, env, ring }: OpenChannel): Promise<Channel> {
  switch (name) {
    case 'desktop': {
      const { desktopChannel, findDesktop } = await import('./channels/desktop.ts')
      const desktop = findDesktop(env)
      if (!desktop) throw new Error('the desktop is gone')
      return desktopChannel(desktop, env)
    }
    case 'bell':
      return (await import('./channels/bell.ts')).bellChannel(ring)
    case 'ntfy': {
      const { server, topic, token } = settings.ntfy
      const { ntfyChannel } = await import('./channels/ntfy.ts')
      return ntfyChannel({ server, topic: secretOf(topic, env) ?? '', token: secretOf(token, env) })
    }
    case 'slack':
      return (await import('./channels/slack.ts')).slackChannel(secretOf(settings.slack.webhook, env) ?? '')
    case 'telegram': {
      const { telegramBot } = await import('./telegram/bot.ts')
      const { telegramChannel } = await import('./telegram/channel.ts')
      return telegramChannel(telegramBot(settings.telegram, env))
    }
    default:
      return unreachable(name)
  }
}
