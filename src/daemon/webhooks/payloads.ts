import { homedir } from 'node:os'
import * as z from 'zod'
import { DAY_MS } from '../../base/clock.ts'
import { unreachable } from '../../base/errors.ts'
import { absolutePath } from '../../domain/config/parse-setting.ts'
import type { Config } from '../../domain/config/settings.ts'
import { WEBHOOK_SOURCES } from '../../domain/option-values.ts'
import type { WebhookAction, WebhookDelivery } from '../../domain/webhook.ts'
import { externalLine, externalText } from './external-text.ts'
import { readGitHub } from './github.ts'

type WebhookSettings = Config['webhooks']

/** Decides what a message asks for. Pure. Throws a `ZodError` for a shape that its sender does not send. */
export function readMessage(
  { source, event, body, delivery }: Pick<WebhookDelivery, 'source' | 'event' | 'body' | 'delivery'>,
  settings: WebhookSettings,
  now: number,
): WebhookAction[] {
  const payload: unknown = JSON.parse(body)
  const known = WEBHOOK_SOURCES.find(name => name === source)
  switch (known) {
    case 'github':
      return [readGitHub({ event, payload }, settings.github, now)]
    case 'prometheus':
      return readAlerts(payload, settings, now)
    case 'telegram':
      return [{ do: 'chat', update: payload }]
    case undefined: {
      const own = settings.in[source]
      if (!own) return [{ do: 'refuse', why: `webhooks.in.${source} is not in the settings any more` }]
      return [readOwn(payload, own, `${source}:${delivery}`)]
    }
    default:
      return unreachable(known)
  }
}

const Alert = z.object({
  status: z.string(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()).default({}),
  startsAt: z.string(),
  generatorURL: z.string().default(''),
  fingerprint: z.string().max(100),
})
const Alerts = z.object({ alerts: z.array(Alert), truncatedAlerts: z.number().default(0) })

/** One message makes no more tasks than this. */
const MOST_ALERTS = 500
const MOST_LABELS = 10

/** A task for each alert that fires. Alertmanager repeats itself, so an alert is known by its fingerprint and its beginning. */
function readAlerts(payload: unknown, settings: WebhookSettings, now: number): WebhookAction[] {
  const { project } = settings.prometheus
  if (project === undefined) return [{ do: 'refuse', why: 'webhooks.prometheus.project is not set' }]
  const { alerts, truncatedAlerts: leftOut } = Alerts.parse(payload)
  const firing = alerts.filter(({ status }) => status === 'firing')
  if (firing.length === 0) return [{ do: 'nothing', why: 'no alert fires' }]
  const rest = firing.length - MOST_ALERTS
  return [
    ...firing.slice(0, MOST_ALERTS).map(alert => taskOfAlert(alert, { project, settings, now })),
    ...(rest > 0
      ? [refuse(`${rest} more alerts fire in this message and get no task; send fewer in one message`)]
      : []),
    ...(leftOut > 0 ? [refuse(`Alertmanager left out ${leftOut} alerts (max_alerts)`)] : []),
  ]
}

function taskOfAlert(
  { labels, annotations, startsAt, generatorURL, fingerprint }: z.infer<typeof Alert>,
  { project, settings, now }: { project: string; settings: WebhookSettings; now: number },
): WebhookAction {
  const began = Date.parse(startsAt)
  const name = labels['alertname'] ?? fingerprint
  // Messages this old are forgotten, so the alert could make a second task.
  if (!(now - began < settings.keep_days * DAY_MS))
    return refuse(`${externalLine(name, 80)} began ${externalLine(startsAt, 40)}, too long ago`)
  const list = (pairs: Record<string, string>) => Object.entries(pairs).map(([key, value]) => `- ${key}: ${value}`)
  const details = ['Labels:', ...list(labels), '', 'Annotations:', ...list(annotations), '', generatorURL].join('\n')
  const summary = annotations['summary'] ?? annotations['description'] ?? ''
  return {
    do: 'task',
    project,
    alias: externalLine(`alert:${fingerprint}:${began}`, 150),
    title: externalLine(`Alert ${name}${summary === '' ? '' : `: ${summary}`}`),
    text: [
      `An alert fires since ${new Date(began).toISOString()}. Find its cause and mend it in this project, or say why that is not possible here.`,
      externalText(details, { from: 'Alertmanager' }),
    ].join('\n\n'),
    labels: ['alert', ...Object.entries(labels).slice(0, MOST_LABELS).map(toWord)],
  }
}

function refuse(why: string): WebhookAction {
  return { do: 'refuse', why }
}

function toWord([key, value]: [string, string]): string {
  return `${key}:${value}`
    .toLowerCase()
    .replace(/[^a-z0-9_.:/-]+/g, '-')
    .slice(0, 60)
}

/** A task by the templates of a person's own webhook. */
function readOwn(payload: unknown, own: WebhookSettings['in'][string], alias: string): WebhookAction {
  const whole = JSON.stringify(payload, null, 2)
  const title = externalLine(fillTemplate(own.title, payload))
  if (title === '') return { do: 'refuse', why: `its title is empty: nothing in it fits ${own.title}` }
  const description = own.description === undefined ? whole : fillTemplate(own.description, payload)
  return {
    do: 'task',
    project: absolutePath(own.project, '/', homedir()),
    alias,
    title,
    text: externalText(description, { from: `the webhook ${alias.split(':')[0]}` }),
    labels: ['webhook'],
  }
}

/** Replaces `{data.issue.title}` by what is there in the message, and by nothing where there is none. */
export function fillTemplate(template: string, payload: unknown): string {
  return template.replace(/\{([\w.-]{1,200})\}/g, (_, path: string) => {
    const found = path.split('.').reduce<unknown>(lookUp, payload)
    if (found === undefined || found === null) return ''
    return typeof found === 'object' ? JSON.stringify(found) : String(found)
  })
}

function lookUp(at: unknown, key: string): unknown {
  return typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined
}
