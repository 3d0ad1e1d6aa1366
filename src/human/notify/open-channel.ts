import { unreachable } from '../../base/errors.ts'
import { readSecret } from '../../domain/config/secret-references.ts'
import type { ChannelName } from '../../domain/option-values.ts'
import type { Channel, NotifySettings } from './notice.ts'

export interface OpenChannel {
  settings: NotifySettings
  env: Record<string, string | undefined>
  /** Rings at attached terminals. */
  ring(text: string): Promise<void>
}

/** Opens a channel that is set up; its code is loaded only now. */
export async function openChannel(name: ChannelName, { settings, env, ring }: OpenChannel): Promise<Channel> {
  switch (name) {
    case 'desktop': {
      const { desktopChannel, findDesktop } = await import('./desktop.ts')
      const desktop = findDesktop(env)
      if (!desktop) throw new Error('the desktop is gone')
      return desktopChannel(desktop, env)
    }
    case 'bell':
      return (await import('./channels.ts')).bellChannel(ring)
    case 'ntfy': {
      const { server, topic, token } = settings.ntfy
      const { ntfyChannel } = await import('./channels.ts')
      return ntfyChannel({ server, topic: readSecret(topic, env) ?? '', token: readSecret(token, env) })
    }
    case 'slack':
      return (await import('./channels.ts')).slackChannel(readSecret(settings.slack.webhook, env) ?? '')
    case 'telegram': {
      const { telegramBot, telegramChannel } = await import('./telegram.ts')
      return telegramChannel(telegramBot(settings.telegram, env))
    }
    default:
      return unreachable(name)
  }
}
