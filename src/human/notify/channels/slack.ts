import type { Channel } from '../notice.ts'
import { postJson } from './post-json.ts'

/** Posts to an incoming webhook as Slack, Mattermost and others have them. */
export function slackChannel(webhook: string): Channel {
  return {
    name: 'slack',
    send: ({ title, text }, signal) =>
      postJson({
        url: webhook,
        body: { text: text === '' ? `*${harmless(title)}*` : `*${harmless(title)}*\n${harmless(text)}` },
        signal,
        secrets: [webhook, new URL(webhook).pathname],
      }),
  }
}

/** Angle brackets would be links and mentions (`<!channel>` wakes everybody). */
function harmless(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
