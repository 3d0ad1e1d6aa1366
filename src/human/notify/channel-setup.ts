import { findDesktop } from './desktop.ts'
import type { ChannelName, NotifySettings } from './notice.ts'

type Env = Record<string, string | undefined>

/** Which channels the settings ask for, and what is missing where one cannot work as it is. */
export interface ChannelSetup {
  channels: ChannelName[]
  problems: { channel: ChannelName; problem: string }[]
  /** Values that must not be told to anybody. */
  secrets: string[]
}

/** Reads what is set up. Nothing that sends is loaded for it, so that a daemon that tells nobody stays small. */
export function setUpOf(settings: NotifySettings, env: Env, platform?: string): ChannelSetup {
  const { ntfy, slack, telegram } = settings
  const channels: ChannelName[] = []
  const problems: ChannelSetup['problems'] = []
  const say = (channel: ChannelName, problem: string | undefined) => {
    if (problem === undefined) channels.push(channel)
    else problems.push({ channel, problem })
  }
  if (settings.desktop && findDesktop(env, platform)) channels.push('desktop')
  if (settings.bell) channels.push('bell')
  if (ntfy.topic !== undefined) {
    say(
      'ntfy',
      missing({ 'ntfy.topic': ntfy.topic, ...(ntfy.token !== undefined && { 'ntfy.token': ntfy.token }) }, env),
    )
  }
  if (slack.webhook !== undefined)
    say('slack', missing({ 'slack.webhook': slack.webhook }, env) ?? unfit(slack.webhook, env))
  if (telegram.bot_token !== undefined || telegram.chat_id !== undefined) {
    say('telegram', missing({ 'telegram.bot_token': telegram.bot_token, 'telegram.chat_id': telegram.chat_id }, env))
  }
  const secrets = [ntfy.topic, ntfy.token, slack.webhook, telegram.bot_token].map(each => resolveSecret(each, env))
  return { channels, problems, secrets: secrets.filter(each => each !== undefined) }
}

/** `env:NAME` is the value of that variable, everything else is the value itself. */
export function resolveSecret(setting: string | undefined, env: Env): string | undefined {
  return setting?.startsWith('env:') ? env[setting.slice('env:'.length)] || undefined : setting
}

function missing(wanted: Record<string, string | undefined>, env: Env): string | undefined {
  for (const [key, setting] of Object.entries(wanted)) {
    if (setting === undefined) return `notifications.${key} is not set`
    if (resolveSecret(setting, env) === undefined) {
      return `notifications.${key} says ${setting}, and that variable is not set where the daemon was started`
    }
  }
  return undefined
}

function unfit(webhook: string, env: Env): string | undefined {
  const url = resolveSecret(webhook, env) ?? ''
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? undefined
    : 'notifications.slack.webhook is no http address'
}
