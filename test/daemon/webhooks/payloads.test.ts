import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { externalLine, externalText } from '../../../src/daemon/webhooks/external-text.ts'
import { readGitHub } from '../../../src/daemon/webhooks/github.ts'
import { fillTemplate, readMessage } from '../../../src/daemon/webhooks/payloads.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import { githubPayload, type Payload, REPOSITORY } from './github-messages.ts'

const { webhooks: DEFAULTS } = nestValues(defaultValues())
const SETTINGS = { ...DEFAULTS.github, repositories: [`${REPOSITORY}=/srv/shop`] }

function read(event: string, action: string, change: (payload: Payload) => void, settings = SETTINGS) {
  const { do: what, ...rest } = readGitHub(
    { event, payload: githubPayload(event, action, change) },
    settings,
    Date.now(),
  )
  return { do: what, ...rest } as Payload
}

const branch = 'pcc/t-00000a'
const label = (payload: Payload) => {
  payload.label.name = 'PCC'
}

test('webhooks.github.label: the label makes a task of an issue, another one does not', () => {
  const { do: what, project, alias, title } = read('issues', 'labeled', label)
  assert.deepEqual([what, project, alias], ['task', '/srv/shop', `${REPOSITORY}#1`])
  assert.equal(title, 'Spelling error in the README file')
  assert.equal(read('issues', 'labeled', () => {}).do, 'nothing')
  assert.equal(read('issues', 'labeled', () => {}, { ...SETTINGS, label: 'bug' }).do, 'task')
  assert.equal(read('issues', 'opened', () => {}).do, 'nothing')
})

test('webhooks.github.repositories: a repository that nobody has set is refused by its name', () => {
  const other = read('issues', 'labeled', payload => {
    label(payload)
    payload.repository.full_name = 'evil/repo'
  })
  assert.equal(other.do, 'refuse')
  assert.match(other.why, /no project is set for evil\/repo/)
  const spelt = { ...SETTINGS, repositories: ['OCTO/Shop=~/shop'] }
  assert.match(read('issues', 'labeled', label, spelt).project, /^\/.*\/shop$/)
})

test('a comment orders only at its beginning, and only from people of the repository', () => {
  const comment = (body: string, association: string, more: object = {}) =>
    read('issue_comment', 'created', payload => {
      Object.assign(payload.comment, { body, author_association: association, ...more })
      delete payload.issue.pull_request
    })
  const order = comment('/pcc please\nand soon', 'MEMBER')
  assert.equal(order.do, 'task')
  assert.match(order.text, /please\nand soon/)
  assert.match(order.again, /#\d+\/\d+$/)
  for (const association of ['NONE', 'CONTRIBUTOR', 'FIRST_TIME_CONTRIBUTOR', 'MANNEQUIN', ''])
    assert.equal(comment('/pcc do it', association).do, 'refuse', association)
  assert.equal(comment('/pcc do it', 'OWNER', { user: { login: 'x[bot]', type: 'Bot' } }).do, 'refuse')
  assert.equal(comment('/pcc do it', 'NONE', { user: null }).do, 'refuse')
  for (const body of ['thanks', '> /pcc do it', 'see below\n/pcc do it', '/pccs'])
    assert.equal(comment(body, 'OWNER').do, 'nothing', body)
})

test('webhooks.github.logins: with a list nobody else orders, whatever GitHub says of them', () => {
  const settings = { ...SETTINGS, logins: ['Alice'] }
  const by = (login: string) =>
    read(
      'issues',
      'labeled',
      payload => {
        label(payload)
        payload.sender.login = login
      },
      settings,
    ).do
  assert.deepEqual([by('alice'), by('Codertocat')], ['task', 'refuse'])
})

test('a label that a template puts on for a stranger orders nothing', () => {
  const opened = (association: string, sender: string) =>
    read('issues', 'labeled', payload => {
      label(payload)
      payload.issue.user.login = 'somebody'
      payload.issue.author_association = association
      payload.sender.login = sender
    }).do
  assert.deepEqual([opened('NONE', 'somebody'), opened('NONE', 'Codertocat')], ['refuse', 'task'])
})

test('a review that asks for changes goes back, from our own repository and from those who may order', () => {
  const review = (change: (payload: Payload) => void) =>
    read('pull_request_review', 'submitted', payload => {
      Object.assign(payload.review, { state: 'changes_requested', body: 'No.', author_association: 'MEMBER' })
      payload.pull_request.head.ref = branch
      change(payload)
    })
  const back = review(() => {})
  assert.deepEqual([back.do, back.branch, back.commit?.length], ['return', branch, 40])
  assert.match(back.report, /External text, from the review by Codertocat.*No\./s)
  assert.equal(review(payload => Object.assign(payload.review, { state: 'approved' })).do, 'nothing')
  assert.equal(review(payload => Object.assign(payload.review, { author_association: 'NONE' })).do, 'refuse')
  assert.equal(
    review(payload => Object.assign(payload.pull_request.head.repo, { full_name: 'evil/shop' })).do,
    'nothing',
  )
  assert.equal(review(payload => Object.assign(payload.pull_request.head, { repo: null })).do, 'nothing')
  assert.equal(review(payload => Object.assign(payload.pull_request.head, { ref: 'pcc/../main' })).do, 'nothing')
})

test('a failed check goes back whatever sends it; one that passed, was cancelled or is of another branch does not', () => {
  for (const event of ['check_run', 'check_suite', 'workflow_run']) {
    const check = (conclusion: string, ref = branch) =>
      read(event, 'completed', payload => {
        const one = payload[event]
        Object.assign(one, { conclusion, head_sha: 'b'.repeat(40) })
        if (event === 'workflow_run') one.head_repository.full_name = payload.repository.full_name
        if (event === 'check_run') one.check_suite.head_branch = ref
        else one.head_branch = ref
      })
    const { do: what, branch: of, commit } = check('failure')
    const ofFork = read(event, 'completed', payload => {
      Object.assign(payload[event], { conclusion: 'failure', head_branch: branch })
      payload[event].head_repository = { full_name: 'mallory/shop' }
      if (event === 'check_run') payload[event].check_suite.head_branch = branch
    })
    assert.equal(ofFork.do, 'nothing', `${event} of a fork`)
    assert.deepEqual([what, of, commit], ['return', branch, 'b'.repeat(40)], event)
    assert.deepEqual(
      [check('success').do, check('cancelled').do, check('failure', 'main').do],
      Array(3).fill('nothing'),
    )
  }
})

test('a merged pull request lands, a closed one does not, and neither does one of a fork', () => {
  const closed = (change: (pull: Payload) => void) =>
    read('pull_request', 'closed', payload => {
      const { pull_request: pull } = payload
      Object.assign(pull, { merged: true, merge_commit_sha: 'c'.repeat(40) })
      pull.head.ref = branch
      change(pull)
    })
  assert.deepEqual(
    closed(() => {}),
    { do: 'landed', project: '/srv/shop', branch, commit: 'c'.repeat(40) },
  )
  assert.equal(closed(pull => Object.assign(pull, { merged: false })).do, 'nothing')
  assert.equal(closed(pull => Object.assign(pull.head.repo, { full_name: 'evil/shop' })).do, 'nothing')
})

test('what is more than three days old is refused, whatever it says', () => {
  const late = read('issues', 'labeled', payload => {
    label(payload)
    payload.issue.updated_at = new Date(Date.now() - 3.1 * 86_400_000).toISOString()
  })
  assert.equal(late.do, 'refuse')
  assert.match(late.why, /more than three days ago/)
  const timeless = read('pull_request', 'closed', ({ pull_request: pull }) => {
    Object.assign(pull, { merged: true, closed_at: null })
    pull.head.ref = 'pcc/t-0a1b2c'
  })
  assert.match(timeless.why, /no time, more than three days ago/)
})

const ALERT = {
  status: 'firing',
  labels: { alertname: 'HighErrors', severity: 'critical', service: 'shop front' },
  annotations: { summary: 'Too many errors' },
  startsAt: new Date().toISOString(),
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://prometheus/graph',
  fingerprint: 'c0ffee',
}

function readAlerts(
  alerts: object[],
  settings: typeof DEFAULTS = { ...DEFAULTS, prometheus: { secret: 'x', project: '/srv/ops' } },
) {
  const body = JSON.stringify({ version: '4', groupKey: '{}:{}', status: 'firing', receiver: 'pcc', alerts })
  return readMessage({ source: 'prometheus', event: 'alerts', delivery: 'd', body }, settings, Date.now()) as Payload[]
}

test('webhooks.prometheus.project: an alert that fires becomes a task with its labels, one that is over does not', () => {
  const [task] = readAlerts([ALERT, { ...ALERT, status: 'resolved' }])
  assert.deepEqual([task.do, task.project, task.title], ['task', '/srv/ops', 'Alert HighErrors: Too many errors'])
  assert.deepEqual(task.labels, ['alert', 'alertname:higherrors', 'severity:critical', 'service:shop-front'])
  assert.match(task.text, /- severity: critical/)
  assert.equal(readAlerts([ALERT, { ...ALERT, fingerprint: 'other' }]).length, 2)
  assert.equal(readAlerts([{ ...ALERT, status: 'resolved' }])[0].do, 'nothing')
  assert.equal(readAlerts([ALERT], DEFAULTS)[0].do, 'refuse')
})

test('webhooks.keep_days: an alert that began before what is remembered is refused', () => {
  const old = { ...ALERT, startsAt: new Date(Date.now() - 31 * 86_400_000).toISOString() }
  assert.equal(readAlerts([old])[0].do, 'refuse')
  const prometheus = { secret: 'x', project: '/srv/ops' }
  assert.equal(readAlerts([old], { ...DEFAULTS, prometheus, keep_days: 40 })[0].do, 'task')
})

test('webhooks.in: title and description come from templates, and what is not there is empty', () => {
  const own = { secret: 'env:X', project: '/srv/ops', title: '{data.issue.title} ({data.count})' }
  const settings = { ...DEFAULTS, in: { sentry: own, other: { ...own, description: 'At {data.where.0}.' } } }
  const body = JSON.stringify({ data: { issue: { title: 'Broken' }, count: 3, where: ['here'] } })
  const message = { event: 'message', delivery: 'd-1', body }
  const [task] = readMessage({ ...message, source: 'sentry' }, settings, 0) as Payload[]
  assert.deepEqual([task.title, task.alias, task.project], ['Broken (3)', 'sentry:d-1', '/srv/ops'])
  assert.match(task.text, /"count": 3/)
  const [other] = readMessage({ ...message, source: 'other' }, settings, 0) as Payload[]
  assert.match(other.text, /\nAt here\.\n/)
  assert.equal(fillTemplate('{constructor.name}{__proto__}{a.b}', { a: null }), '')
  const [gone] = readMessage({ ...message, source: 'gone' }, settings, 0) as Payload[]
  assert.equal(gone.do, 'refuse')
})

test('whatever text comes from outside, it is cut, has no control characters and stays in its fence', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(9), (noise, ticks) => {
      const text = `${noise}${'`'.repeat(ticks)}\n${noise}\x1b[2J\u202e`.repeat(ticks)
      const line = externalLine(text)
      assert.ok(line.length <= 200 && !/[\x00-\x1f\x7f-\x9f\u202e]/.test(line) && line.isWellFormed())
      const told = externalText(text, { from: noise })
      assert.ok(told.length < 21_000 && !/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/.test(told))
      const [, fence = '', inside = ''] = /\n\n(`{3,})\n(.*)\n\1$/s.exec(told) ?? []
      assert.ok(fence !== '' && !inside.includes(fence))
    }),
  )
})
