import type { Login } from '../conformance/adapter.ts'
import { type Channel, LOOK_ALIKES } from './look-alike-texts.ts'

/** One real conversation of the corpus. */
export interface Case {
  name: string
  login: Login
  /** Turns of the scenario; a subagent has its own, found by the word `helper`. */
  turns: object[]
  helper?: object[]
  files?: Record<string, string>
  env?: Record<string, string>
}

const RESETS = '2030-01-01T00:00:00Z'
const SECONDS = '1893456000'
const UNIFIED = 'anthropic-ratelimit-unified'

const http = (status: number, headers: Record<string, string>, type = 'rate_limit_error') => ({
  fault: { kind: 'http', status, type, message: 'Too many requests for now.', headers },
})
const limit = (more: object = {}) => ({ fault: { kind: 'limit', resets: RESETS, ...more } })
const work = { text: 'On it.', tools: [{ Bash: { command: 'echo started', description: 'starts' } }] }
const send = { tools: [{ Agent: { description: 'helps', prompt: 'helper, look', subagent_type: 'general-purpose' } }] }

/** Every way in which the vendor refuses until later (FACTS: errors, usage limits). */
export const LIMIT_CASES: Case[] = [
  { name: 'subscription: five hours', login: 'subscription', turns: [limit()] },
  { name: 'subscription: seven days', login: 'subscription', turns: [limit({ window: 'seven_day' })] },
  { name: 'subscription: a window of one model', login: 'subscription', turns: [limit({ window: 'seven_day_opus' })] },
  { name: 'subscription: after a tool', login: 'subscription', turns: [work, limit()] },
  { name: 'subscription: in a subagent', login: 'subscription', turns: [send, limit()], helper: [limit()] },
  {
    name: 'subscription: a reset in the past',
    login: 'subscription',
    turns: [limit({ resets: '2026-01-01T00:00:00Z' })],
  },
  { name: 'subscription: in thirty days', login: 'subscription', turns: [limit({ resets: '+30d' })] },
  {
    name: 'subscription: in two hours, in Berlin',
    login: 'subscription',
    turns: [limit({ resets: '+2h' })],
    env: { TZ: 'Europe/Berlin' },
  },
  {
    name: 'subscription: in two hours, in Kathmandu',
    login: 'subscription',
    turns: [limit({ resets: '+2h' })],
    env: { TZ: 'Asia/Kathmandu' },
  },
  {
    name: 'subscription: a claim without a reset',
    login: 'subscription',
    turns: [http(429, { [`${UNIFIED}-representative-claim`]: 'five_hour' })],
  },
  {
    name: 'subscription: a claim that is not rejected',
    login: 'subscription',
    turns: [
      http(429, {
        [`${UNIFIED}-representative-claim`]: 'five_hour',
        [`${UNIFIED}-status`]: 'allowed',
        [`${UNIFIED}-reset`]: SECONDS,
      }),
    ],
  },
  {
    name: 'subscription: out of credits',
    login: 'subscription',
    turns: [
      http(429, {
        [`${UNIFIED}-representative-claim`]: 'overage',
        [`${UNIFIED}-status`]: 'rejected',
        [`${UNIFIED}-reset`]: SECONDS,
        [`${UNIFIED}-overage-status`]: 'rejected',
        [`${UNIFIED}-overage-disabled-reason`]: 'out_of_credits',
      }),
    ],
  },
  { name: 'subscription: retry after 61 s', login: 'subscription', turns: [http(429, { 'retry-after': '61' })] },
  { name: 'subscription: refused again and again', login: 'subscription', turns: [http(429, {})] },
  { name: 'key: retry after 61 s', login: 'key', turns: [http(429, { 'retry-after': '61' })] },
  { name: 'key: refused again and again', login: 'key', turns: [http(429, {})] },
  { name: 'key: the headers of a subscription', login: 'key', turns: [limit({ resets: '+10s' })] },
]

const warning = { utilization: 0.96, resets: RESETS, status: 'allowed_warning', surpassed_threshold: 0.9 }
const done = { text: 'Done.' }
const fault = (kind: string) => ({ fault: { kind } })

/** All other failures and near-failures: none of them closes a gate. */
export const OTHER_CASES: (Case & { failure: string | undefined })[] = [
  {
    name: 'a warning',
    login: 'subscription',
    turns: [{ ...done, rate_limits: { status: 'allowed_warning', five_hour: warning } }],
    failure: undefined,
  },
  {
    name: 'a window that is full, and an answer',
    login: 'subscription',
    turns: [{ ...done, rate_limits: { five_hour: { ...warning, utilization: 1 } } }],
    failure: undefined,
  },
  {
    name: 'rejected, and an answer all the same',
    login: 'subscription',
    turns: [{ ...done, rate_limits: { status: 'rejected', five_hour: { ...warning, status: 'rejected' } } }],
    failure: undefined,
  },
  {
    name: 'refused once, then an answer',
    login: 'key',
    turns: [{ fault: { kind: 'rate_limit', retry_after: 0, times: 1 }, ...done }],
    failure: undefined,
  },
  {
    name: 'a subagent alone is refused',
    login: 'key',
    turns: [send, done],
    helper: [http(429, { 'retry-after': '61' })],
    failure: undefined,
  },
  { name: 'overloaded', login: 'key', turns: [fault('overloaded')], failure: 'overloaded' },
  { name: 'server error', login: 'key', turns: [fault('server_error')], failure: 'server' },
  { name: 'reset', login: 'key', turns: [fault('reset')], failure: 'network' },
  { name: 'cut stream', login: 'key', turns: [fault('cut_stream')], failure: 'network' },
  { name: 'unauthorized key', login: 'key', turns: [fault('unauthorized')], failure: 'auth' },
  { name: 'unauthorized subscription', login: 'subscription', turns: [fault('unauthorized')], failure: 'auth' },
  { name: 'forbidden', login: 'key', turns: [fault('forbidden')], failure: 'auth' },
  { name: 'bad request', login: 'key', turns: [http(400, {}, 'invalid_request_error')], failure: 'other' },
  { name: 'no credit', login: 'key', turns: [fault('credit_too_low')], failure: 'billing' },
  { name: 'no such model', login: 'key', turns: [fault('model_not_found')], failure: 'model_not_found' },
  { name: 'too long', login: 'key', turns: [fault('prompt_too_long')], failure: 'prompt_too_long' },
  { name: 'refusal', login: 'key', turns: [fault('refusal')], failure: 'refusal' },
  {
    name: 'refused by a message that speaks of a limit',
    login: 'key',
    turns: [
      {
        fault: {
          kind: 'http',
          status: 403,
          type: 'permission_error',
          message: "You've hit your 5-hour limit · resets 3am (UTC)",
        },
      },
    ],
    failure: 'auth',
  },
  {
    name: 'a server error that speaks of a limit',
    login: 'key',
    turns: [{ fault: { kind: 'server_error', message: 'usage_limit_reached: rate_limit, resets 3am (UTC)' } }],
    failure: 'server',
  },
]

type Play = (text: string) => Pick<Case, 'turns' | 'helper' | 'files'>

const printing = (text: string) => `printf '%s\\n' '${text.replaceAll("'", `'\\''`)}'`
const run = (command: string) => ({ tools: [{ Bash: { command, description: 'runs' } }] })
const todo = (content: string) => ({ content, status: 'pending', activeForm: content })
const option = (label: string) => ({ label, description: label })

const PLAYS: Record<Channel, Play> = {
  says: text => ({ turns: [{ text }] }),
  thinks: text => ({ turns: [{ thinking: text, text: 'Done.' }] }),
  prints: text => ({ turns: [run(printing(text)), { text }] }),
  fails: text => ({ turns: [run(`${printing(text)} >&2; exit 1`), done] }),
  reads: text => ({
    turns: [{ tools: [{ Read: { file_path: '{{cwd}}/found.txt' } }] }, done],
    files: { 'found.txt': text },
  }),
  writes: text => ({ turns: [{ tools: [{ Write: { file_path: '{{cwd}}/new.txt', content: text } }] }, done] }),
  plans: text => ({ turns: [{ tools: [{ TodoWrite: { todos: [todo(text)] } }] }, done] }),
  asks: text => ({
    turns: [
      {
        tools: [
          {
            AskUserQuestion: {
              questions: [
                { question: text, header: 'Words', multiSelect: false, options: [option('Yes'), option('No')] },
              ],
            },
          },
        ],
      },
      done,
    ],
  }),
  subagent: text => ({ turns: [send, { text }], helper: [{ text }] }),
}

/** Conversations in which somebody else imitates the vendor's texts. */
export const LOOK_ALIKE_CASES: Case[] = LOOK_ALIKES.map(([channel, text], at) => ({
  name: `${at + 1}: ${channel}`,
  login: at % 2 === 0 ? 'key' : 'subscription',
  ...PLAYS[channel](text),
}))
