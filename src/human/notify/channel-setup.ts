import { explainUnreadByDaemon, readSecret, secretValues } from '../../domain/config/secret-references.ts'
import type { ChannelName } from '../../domain/option-values.ts'
import { findDesktop } from './desktop.ts'
import type { NotifySettings } from './notice.ts'

type Env = Record<string, string | undefined>

/** Which channels the settings ask for, and what is missing for those that cannot work. */
export interface ChannelSetup {
  channels: ChannelName[]
  problems: { channel: ChannelName; problem: string }[]
  /** Values that must not be shown to anybody. */
  secrets: string[]
}

/** Reads which channels are set up. This loads no code that sends, so that a daemon without channels stays small. */
export function readChannelSetup(settings: NotifySettings, env: Env, platform?: string): ChannelSetup {
  const { ntfy, slack, telegram } = settings
  const channels: ChannelName[] = []
  const problems: ChannelSetup['problems'] = []
  const add = (channel: ChannelName, problem: string | undefined) => {
    if (problem === undefined) channels.push(channel)
    else problems.push({ channel, problem })
  }
  if (settings.desktop && findDesktop(env, platform)) channels.push('desktop')
  if (settings.bell) channels.push('bell')
  if (ntfy.topic !== undefined) {
    add(
      'ntfy',
      findMissing({ 'ntfy.topic': ntfy.topic, ...(ntfy.token !== undefined && { 'ntfy.token': ntfy.token }) }, env),
    )
  }
  if (slack.webhook !== undefined)
    add('slack', findMissing({ 'slack.webhook': slack.webhook }, env) ?? findWebhookProblem(slack.webhook, env))
  if (telegram.bot_token !== undefined || telegram.chat_id !== undefined) {
    add(
      'telegram',
      findMissing({ 'telegram.bot_token': telegram.bot_token, 'telegram.chat_id': telegram.chat_id }, env),
    )
  }
  return { channels, problems, secrets: secretValues({ notifications: settings }, env) }
}

function findMissing(wanted: Record<string, string | undefined>, env: Env): string | undefined {
  for (const [key, setting] of Object.entries(wanted)) {
    if (setting === undefined) return `notifications.${key} is not set`
    if (readSecret(setting, env) === undefined) {
      return `notifications.${key} takes ${explainUnreadByDaemon(setting)}`
    }
  }
  return undefined
}

function findWebhookProblem(webhook: string, env: Env): string | undefined {
  const url = readSecret(webhook, env) ?? ''
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? undefined
    : 'notifications.slack.webhook is no http address'
}
