import { WEBHOOK_SOURCES } from '../../option-values.ts'
import { count, flag, optionalPath, type Setting, tables, text, texts, word } from '../setting.ts'

/** A secret of a section is always named, never written there: sections are shown as they are. */
const reference = /^(secret|env):[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const name = new RegExp(`^(?!(${WEBHOOK_SOURCES.join('|')})$)[a-z][a-z0-9-]{0,39}$`)

/** Messages from and to other programs (docs/webhooks.md). A project cannot decide who may start work, or who gets its events. */
export const WEBHOOK_SETTINGS = {
  'webhooks.start_runs': flag({
    standard: true,
    about: 'Start a run for a task that a webhook has made; without it the task waits for you',
    project: 'never',
  }),
  'webhooks.requests_per_minute': count(1, {
    standard: 300,
    about: 'Messages of one webhook in a minute; more get 429',
    project: 'never',
  }),
  'webhooks.queue_size': count(1, {
    standard: 1_000,
    about: 'Messages that may wait to be worked on; more get 429',
    project: 'never',
  }),
  'webhooks.keep_days': count(4, {
    standard: 30,
    about: 'Days for which messages are remembered, so that none is worked on twice; older ones are refused',
    project: 'never',
  }),
  'webhooks.max_returns': count(0, {
    standard: 5,
    about: 'How often reviews and failed checks send the work of one task back to its agent; then a person looks',
    project: 'never',
  }),
  'webhooks.github.secret': text({
    standard: undefined,
    about: 'Secret of the webhook at GitHub, as `secret:NAME` or `env:NAME`',
    project: 'never',
    secret: true,
  }),
  'webhooks.github.repositories': texts(
    {
      standard: [],
      about: 'Which project a repository is: "owner/name=/path/to/project"; messages of others are refused',
      project: 'never',
    },
    /^[\w.-]+\/[\w.-]+=(~\/|\/).*$/,
    'pairs such as "owner/name=/path/to/project"',
  ),
  'webhooks.github.label': word({
    standard: 'pcc',
    about: 'Label that makes a task of an issue',
    project: 'never',
  }),
  'webhooks.github.logins': texts(
    {
      standard: [],
      about: 'Who may give orders there; if empty, owners, members and collaborators of the repository',
      project: 'never',
    },
    /^[A-Za-z0-9[\]_-]{1,100}$/,
    'logins such as "octocat"',
  ),
  'webhooks.prometheus.secret': text({
    standard: undefined,
    about: 'Token that Alertmanager sends as `Authorization: Bearer`, as `secret:NAME` or `env:NAME`',
    project: 'never',
    secret: true,
  }),
  'webhooks.prometheus.project': optionalPath({
    standard: undefined,
    about: 'Project in which alerts become tasks',
    project: 'never',
  }),
  'webhooks.telegram.secret': text({
    standard: undefined,
    about: 'Secret token of the webhook of your bot, as `secret:NAME` or `env:NAME`; with it the daemon does not poll',
    project: 'never',
    secret: true,
  }),
  'webhooks.telegram.project': optionalPath({
    standard: undefined,
    about: 'Project in which `/task` makes tasks',
    project: 'never',
  }),
  'webhooks.in': tables(
    {
      secret: reference,
      project: /^(~\/|\/)/,
      title: /^.{1,500}$/,
      description: /^.{0,5000}$/s,
      header: /^[A-Za-z][A-Za-z0-9-]{0,99}$/,
    },
    ['secret', 'project', 'title'],
    {
      standard: {},
      about:
        'Webhooks of your own, by name: `[webhooks.in.sentry]` with `secret`, `project`, `title = "{data.issue.title}"`, and `description` and `header` if you want',
      project: 'never',
    },
    {
      name,
      expects:
        'sections such as [webhooks.in.sentry] with secret = "secret:NAME" (or "env:NAME"), project, title, and optionally description and header',
    },
  ),
  'webhooks.out': tables(
    {
      url: /^https?:\/\/\S{1,2000}$/,
      secret: reference,
      events: /^[a-z_.*, ]{1,500}$/,
      private: /^(yes|no)$/,
    },
    ['url', 'secret'],
    {
      standard: {},
      about:
        'Addresses that are told of events, by name: `[webhooks.out.ci]` with `url`, `secret`, and `events = "task.*, run.ended"` and `private = "yes"` if you want',
      project: 'never',
    },
    {
      name,
      expects:
        'sections such as [webhooks.out.ci] with url, secret = "secret:NAME" (or "env:NAME"), and optionally events and private = "yes"',
    },
  ),
} as const satisfies Record<string, Setting>
