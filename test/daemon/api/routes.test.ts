import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AuditEntry } from '../../../src/domain/access.ts'
import { type ApiError, openApiClient } from '../../../src/domain/api-v1/client.ts'
import type { ApiRoute } from '../../../src/domain/api-v1/route.ts'
import { API_ROUTES } from '../../../src/domain/api-v1/routes.ts'
import { sharedDaemon } from '../shared-daemon.ts'
import { callApi, callerWith, LISTENING } from './api-world.ts'

const shared = sharedDaemon({ env: LISTENING })

async function world(name: string) {
  const daemon = await shared()
  const project = join(daemon.home, name)
  mkdirSync(project, { recursive: true })
  return { daemon, project, ...(await callerWith(daemon, { scope: 'work' })) }
}

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

test('a task is created, read, changed, ordered and deleted, and every reply is as its schema says', async () => {
  const { project, address, secret } = await world('way')
  const { call } = openApiClient({ address, key: secret })
  const { body: first, etag, status } = await call('createTask', { body: { project, title: 'One', labels: ['a'] } })
  assert.equal(status, 201)
  API_ROUTES.createTask.reply.parse(first)
  const params = { task: first.id }
  assert.deepEqual((await call('readTask', { params })).body, first)
  assert.equal((await call('readTask', { params })).etag, etag)
  const { body: changed } = await call('updateTask', {
    params,
    body: { priority: 7, title: 'Eins' },
    ifMatch: etag ?? '',
  })
  assert.deepEqual([changed.priority, changed.title, changed.description], [7, 'Eins', 'Eins'])
  const { body: second } = await call('createTask', { body: { project, title: 'Two', after: [first.id] } })
  assert.equal(second.state, 'blocked')
  const free = await call('removeDependency', { params: { task: second.id, blocker: first.id } })
  assert.equal(free.body.state, 'ready')
  assert.deepEqual(
    (await call('addDependency', { params: { task: second.id }, body: { after: first.id } })).body.after,
    [first.id],
  )
  assert.deepEqual((await call('readTaskNeighbours', { params })).body.dependents, [
    { id: second.id, title: 'Two', state: 'blocked' },
  ])
  assert.equal((await call('cancelTask', { params: { task: second.id } })).body.state, 'cancelled')
  assert.equal((await call('moveTask', { params, body: { to: 'failed', reason: 'no' } })).body.state, 'failed')
  await call('noteOnTask', { params, body: { text: 'a line' } })
  const { body: log } = await call('readTaskLog', { params, query: { limit: 2 } })
  assert.deepEqual(
    log.items.map(({ kind }) => kind),
    ['task.submitted', 'task.updated'],
  )
  const { body: rest } = await call('readTaskLog', { params, query: { cursor: log.next ?? '' } })
  assert.deepEqual(rest.items.at(-1)?.body, { task_id: first.id, title: 'Eins', text: 'a line' })
  const imported = await call('importTasks', {
    body: {
      project,
      tasks: [
        { id: 'a', title: 'A' },
        { title: 'B', after: ['a'] },
      ],
    },
  })
  assert.deepEqual(
    imported.body.tasks.map(({ title, state }) => [title, state]),
    [
      ['A', 'ready'],
      ['B', 'blocked'],
    ],
  )
  assert.deepEqual((await call('deleteTask', { params, query: { cascade: 'true' } })).body.deleted.length, 2)
  await assert.rejects(call('readTask', { params }), (error: ApiError) => error.problem.code === 'task_not_there')
})

test('a list is read page by page without a gap or a repetition, also while tasks are added', async () => {
  const { project, call } = await world('pages')
  const add = (title: string) => call('POST', '/tasks', { body: { project, title, labels: ['x'] } })
  for (let at = 0; at < 7; at++) await add(`${at}`)
  const seen: string[] = []
  for (let cursor = ''; ; ) {
    const query = new URLSearchParams({ project, limit: '3', label: 'x', ...(cursor !== '' && { cursor }) })
    const { body } = await call('GET', `/tasks?${query}`)
    seen.push(...body.items.map(({ title }: { title: string }) => title))
    if (seen.length === 3) await add('7')
    if (body.next === null) break
    cursor = body.next
  }
  assert.deepEqual(seen, ['0', '1', '2', '3', '4', '5', '6', '7'])
  assert.deepEqual(codeOf(await call('GET', '/tasks?cursor=bm8')), [400, 'bad_request'])
  assert.deepEqual(codeOf(await call('GET', '/runs?cursor=bm8')), [400, 'bad_request'])
})

test('a change with the version that was read counts once; any other version is refused and changes nothing', async () => {
  const { project, call } = await world('versions')
  const title = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter(text => /[\p{L}\p{N}]/u.test(text))
  await fc.assert(
    fc.asyncProperty(title, fc.double({ min: 0.01, max: 1e6, noNaN: true }), async (text, cost_usd) => {
      const { status, body, headers } = await call('POST', '/tasks', {
        body: { project, title: text, budget: { cost_usd } },
      })
      assert.equal(status, 201, JSON.stringify(body))
      const read = await call('GET', `/tasks/${body.id}`)
      assert.equal(read.headers.etag, headers.etag)
      const change = (version: string | undefined) =>
        call('PATCH', `/tasks/${body.id}`, { body: { priority: 1 }, headers: { 'if-match': version } })
      assert.equal((await change(headers.etag)).status, 200)
      assert.deepEqual(codeOf(await change(headers.etag)), [412, 'changed_meanwhile'])
      const cancel = { headers: { 'if-match': headers.etag } }
      assert.equal((await call('POST', `/tasks/${body.id}/cancel`, cancel)).status, 412)
      const unchanged = await call('GET', `/tasks/${body.id}`, { headers: { 'if-none-match': read.headers.etag } })
      assert.equal(unchanged.status, 200, 'it has changed')
      const same = await call('GET', `/tasks/${body.id}`, { headers: { 'if-none-match': unchanged.headers.etag } })
      assert.deepEqual([same.status, same.body], [304, undefined])
      await call('DELETE', `/tasks/${body.id}`)
    }),
    { numRuns: 15 },
  )
})

test('every change takes the version of what it changes, from the route that reads it', async () => {
  const routes: Record<string, ApiRoute> = API_ROUTES
  for (const [name, { method, creates, readOnly, guardedBy }] of Object.entries(routes)) {
    if (method === 'GET' || creates || readOnly) continue
    const read = routes[guardedBy ?? '']
    assert.ok(read?.method === 'GET' && read.versioned, name)
  }
  const { daemon, project, call } = await world('guards')
  const decider = await callerWith(daemon, { scope: 'decide' })
  const read = await decider.call('GET', '/quota')
  const hold = (version: string | undefined) =>
    decider.call('POST', '/quota/hold', { body: {}, headers: { 'if-match': version } })
  assert.equal(
    (await decider.call('GET', '/quota')).headers.etag,
    read.headers.etag,
    'the time of a reading is no change',
  )
  assert.deepEqual(codeOf(await hold('"another"')), [412, 'changed_meanwhile'])
  assert.equal((await decider.call('GET', '/quota')).body.hold, null)
  assert.equal((await hold(read.headers.etag)).status, 200)
  assert.deepEqual(codeOf(await hold(read.headers.etag)), [412, 'changed_meanwhile'])
  assert.equal((await decider.call('POST', '/quota/release', { headers: { 'if-match': '*' } })).status, 200)
  // The project is in the query of the one and in the body of the other. Nothing was spent there, so there is no budget to reset.
  const budget = await decider.call('GET', `/budgets?project=${project}`)
  const reset = (version: string | undefined) =>
    decider.call('POST', '/budgets/reset', { body: { project }, headers: { 'if-match': version } })
  assert.equal((await reset('"another"')).status, 412)
  assert.equal((await reset(budget.headers.etag)).status, 404)
  const [one, two] = [
    await call('POST', '/tasks', { body: { project, title: 'One' } }),
    await call('POST', '/tasks', { body: { project, title: 'Two' } }),
  ]
  const link = (version: string | undefined) =>
    call('POST', `/tasks/${two.body.id}/dependencies`, {
      body: { after: one.body.id },
      headers: { 'if-match': version },
    })
  assert.deepEqual(codeOf(await link(one.headers.etag)), [412, 'changed_meanwhile'])
  assert.equal((await link(two.headers.etag)).status, 200)
  const path = `/tasks/${two.body.id}`
  const stale = { headers: { 'if-match': two.headers.etag } }
  assert.equal((await call('DELETE', `${path}/dependencies/${one.body.id}`, stale)).status, 412)
  assert.equal((await call('DELETE', path, stale)).status, 412)
})

test('a create with the same Idempotency-Key happens once, also at once; another body is refused; a refusal may be sent again', async () => {
  const { daemon, project, call } = await world('once')
  const create = (title: string, key: string) =>
    call('POST', '/tasks', { body: { project, title }, headers: { 'idempotency-key': key } })
  const replies = await Promise.all(Array.from({ length: 8 }, () => create('Only one', 'k1')))
  assert.deepEqual([...new Set(replies.map(({ status, body }) => `${status} ${body.id}`))].length, 1)
  const again = await create('Only one', 'k1')
  assert.deepEqual([again.body.id, again.headers['idempotency-replayed']], [replies[0]?.body.id, 'true'])
  assert.deepEqual(codeOf(await create('Another', 'k1')), [422, 'reply_of_another'])
  const refused = { body: { project, title: 'x', after: ['t-000000'] }, headers: { 'idempotency-key': 'k2' } }
  assert.deepEqual(codeOf(await call('POST', '/tasks', refused)), [404, 'task_not_there'])
  assert.equal((await create('Now right', 'k2')).status, 201)
  assert.deepEqual(codeOf(await create('x', 'a key')), [400, 'bad_request'])
  const other = await callerWith(daemon, { scope: 'work' })
  const theirs = await other.call('POST', '/tasks', {
    body: { project, title: 'x' },
    headers: { 'idempotency-key': 'k1' },
  })
  assert.equal(theirs.status, 201, 'the keys of two callers are apart')
  assert.equal((await call('GET', `/tasks?project=${project}`)).body.items.length, 3)
})

test('a key reads, works or decides as its scope says, and only in its project', async () => {
  const { daemon, project, call } = await world('scopes')
  const elsewhere = join(daemon.home, 'elsewhere')
  mkdirSync(elsewhere, { recursive: true })
  const { body: task } = await call('POST', '/tasks', { body: { project, title: 'Mine' } })
  const { body: foreign } = await call('POST', '/tasks', { body: { project: elsewhere, title: 'Theirs' } })
  const reader = await callerWith(daemon, { scope: 'read' })
  assert.deepEqual(codeOf(await reader.call('POST', '/tasks', { body: { project, title: 'x' } })), [
    403,
    'scope_needed',
  ])
  assert.deepEqual(codeOf(await call('POST', `/tasks/${task.id}/move`, { body: { to: 'done' } })), [
    403,
    'scope_needed',
  ])
  assert.deepEqual(codeOf(await call('POST', '/escalations/1/answer', { body: { verdict: 'deny' } })), [
    403,
    'scope_needed',
  ])

  const bound = await callerWith(daemon, { scope: 'admin', project })
  assert.equal((await bound.call('GET', `/tasks/${task.id}`)).status, 200)
  const refused: [string, string, object?][] = [
    ['GET', `/tasks/${foreign.id}`],
    ['GET', `/tasks/${foreign.id.slice(0, 5)}`],
    ['PATCH', `/tasks/${foreign.id}`, { priority: 3 }],
    ['POST', `/tasks/${foreign.id}/cancel`],
    ['DELETE', `/tasks/${foreign.id}`],
    ['GET', `/tasks/${foreign.id}/diff`],
    ['POST', `/tasks/${task.id}/dependencies`, { after: foreign.id }],
    ['POST', '/tasks', { title: 'x', after: [foreign.id] }],
    ['POST', '/tasks', { title: 'x', parent: foreign.id.slice(0, 7) }],
    ['PATCH', `/tasks/${task.id}`, { parent: foreign.id }],
    ['GET', `/tasks?under=${foreign.id}`],
    ['GET', `/worktrees/${foreign.id}`],
    ['GET', `/journal?task=${foreign.id}`],
  ]
  for (const [method, path, body] of refused)
    assert.deepEqual(codeOf(await bound.call(method, path, { body })), [404, 'task_not_there'], `${method} ${path}`)
  const imported = await bound.call('POST', '/tasks/import', { body: { tasks: [{ title: 'x', after: [foreign.id] }] } })
  assert.deepEqual(codeOf(imported), [400, 'tasks_wrong'])
  assert.doesNotMatch(JSON.stringify(imported.body), /Theirs|elsewhere/)
  for (const path of [
    'tasks',
    'runs',
    'sessions',
    'features',
    'worktrees',
    'merges',
    'needs',
    'budgets',
    'projects',
    'rules',
  ])
    assert.deepEqual(codeOf(await bound.call('GET', `/${path}?project=${elsewhere}`)), [403, 'out_of_reach'], path)
  for (const path of ['quota', 'systems'])
    assert.deepEqual(codeOf(await bound.call('GET', `/${path}`)), [403, 'out_of_reach'], path)
  const { body: listed } = await bound.call('GET', '/tasks')
  assert.deepEqual(
    listed.items.map(({ id }: { id: string }) => id),
    [task.id],
  )
  assert.deepEqual(
    (await bound.call('GET', '/projects')).body.items.map((row: { project: string }) => row.project),
    [project],
  )
  assert.equal((await bound.call('POST', '/tasks', { body: { title: 'project left out' } })).body.project, project)
  assert.deepEqual(codeOf(await bound.call('POST', '/tasks', { body: { project: elsewhere, title: 'x' } })), [
    403,
    'out_of_reach',
  ])
  assert.deepEqual(codeOf(await call('POST', '/tasks', { body: { title: 'x' } })), [400, 'project_unnamed'])

  assert.deepEqual(codeOf(await bound.call('GET', `/events?project=${elsewhere}`)), [403, 'out_of_reach'])
  const { body: last } = await bound.call('POST', '/tasks', { body: { title: 'Heard last' } })
  const heard: string[] = []
  const stream = openApiClient({ address: bound.address, key: bound.secret }).follow({ after: 0 })
  for await (const { subject } of stream) {
    heard.push(subject)
    if (subject === last.id) break
  }
  assert.ok(heard.includes(task.id) && !heard.includes(foreign.id), 'its stream is that of its project')
})

test('a key that would have expired already is not made', async () => {
  const { daemon } = await world('expired')
  const { status, body } = await daemon.call('POST', '/api-keys', { body: { scope: 'read', expires_at: 1_000 } })
  assert.deepEqual([status, body.error.code], [400, 'bad_request'])
})

test('another Host, a web page, another type of body, a wrong key and internal routes get nothing', async () => {
  const { project, address, secret, call } = await world('doors')
  const { host } = new URL(address)
  const tries: [Record<string, string | undefined>, number, string][] = [
    [{ host: 'evil.example' }, 421, 'api_host'],
    [{ host: `evil.example:${new URL(address).port}` }, 421, 'api_host'],
    [{ host: '127.0.0.1' }, 421, 'api_host'],
    [{ origin: 'null' }, 403, 'api_origin'],
    [{ origin: 'http://evil.example' }, 403, 'api_origin'],
    [{ 'sec-fetch-site': 'cross-site' }, 403, 'api_origin'],
    [{ authorization: undefined }, 401, 'key_missing'],
    [{ authorization: undefined, cookie: `key=${secret}` }, 401, 'key_missing'],
    [{ authorization: 'Bearer wrong' }, 401, 'key_unknown'],
    [{ authorization: `Basic ${secret}` }, 401, 'key_missing'],
  ]
  for (const [headers, status, code] of tries)
    assert.deepEqual(codeOf(await call('GET', '/tasks', { headers })), [status, code], JSON.stringify(headers))
  assert.equal((await call('GET', '/tasks', { headers: { origin: `http://${host}` } })).status, 200)
  assert.equal((await call('GET', '/tasks', { headers: { host: host.replace('127.0.0.1', 'LocalHost') } })).status, 200)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', undefined]) {
    const sent = { raw: '{}', headers: { 'content-type': type } }
    const answer = await call('POST', '/tasks', sent)
    assert.deepEqual(codeOf(answer), [415, 'bad_request'], type)
    assert.match(answer.body.detail, /Content-Type: application\/json/)
  }
  const preflight = await callApi(address, undefined, {
    method: 'OPTIONS',
    path: '/tasks',
    headers: { origin: 'http://evil.example' },
  })
  assert.deepEqual([preflight.status, preflight.headers['access-control-allow-origin']], [403, undefined])
  const inside = [
    '/internal/agent-status',
    '//sessions',
    '//hooks/claude/PreToolUse',
    '//agent/tools',
    '//daemon/stop',
    '//api-keys',
  ]
  for (const path of inside) {
    for (const method of ['GET', 'POST'])
      assert.deepEqual(
        codeOf(await call(method, path, method === 'GET' ? {} : { body: {} })),
        [404, 'not_found'],
        `${method} ${path}`,
      )
  }
  assert.deepEqual(codeOf(await callApi(address, undefined, { method: 'GET', path: '/nowhere' })), [401, 'key_missing'])
  assert.deepEqual((await callApi(address, undefined, { method: 'GET', path: '/health' })).body, { status: 'ok' })
  const valid = `"project":${JSON.stringify(project)},"title":"x"`
  for (const evil of ['"__proto__":{"priority":9}', '"constructor":{"prototype":{"priority":9}}'])
    assert.deepEqual(codeOf(await call('POST', '/tasks', { raw: `{${valid},${evil}}` })), [400, 'bad_request'], evil)
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  assert.match((await call('POST', '/tasks', { raw: deep })).body.detail, /nested more than 64 times/)
  const bracketsInText = JSON.stringify({ project, title: `"${'['.repeat(100)}\\` })
  assert.equal((await call('POST', '/tasks', { raw: bracketsInText })).status, 201)
  const large = request(`${address}/api/v1/tasks`, {
    ...{ method: 'POST', agent: false },
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'content-length': 9_000_000 },
  })
  large.on('error', () => {}).flushHeaders()
  const [tooLarge] = (await once(large, 'response')) as [IncomingMessage]
  assert.deepEqual([tooLarge.statusCode, tooLarge.headers.connection], [413, 'close'])
  large.destroy()
})

test('every change is in the audit log under the name of the key, and a question is not', async () => {
  const { daemon, project, call } = await world('audited')
  const { body: task } = await call('POST', '/tasks', { body: { project, title: 'Audited' } })
  await call('POST', `/tasks/${task.id}/cancel`)
  await call('POST', '/runs/plan', { body: { project, target: { kind: 'project' } } })
  const { body } = await daemon.call<{ entries: AuditEntry[] }>('GET', '/audit?limit=10')
  const ours = body.entries.filter(({ target, action }) => target.includes(task.id) || action.includes('plan'))
  assert.deepEqual(
    ours.map(({ via, action, failed }) => [via, action, failed]),
    [['key', 'POST /api/v1/tasks/:task/cancel', null]],
  )
})

test('the same routes are on the Unix socket, for the owner and without a key', async () => {
  const { daemon, project } = await world('socket')
  const { status, body } = await daemon.call('POST', '/api/v1/tasks', { body: { project, title: 'By socket' } })
  assert.deepEqual([status, body.title], [201, 'By socket'])
  assert.equal((await daemon.call('GET', `/api/v1/tasks/${body.id}`)).body.id, body.id)
  const wrong = await daemon.call('POST', '/api/v1/tasks', { body: { project } })
  assert.deepEqual(codeOf(wrong), [400, 'bad_request'])
  const { body: started } = await daemon.call('GET', '/internal/agent-status')
  assert.deepEqual(started, { agents: [] })
  const { body: refused } = await daemon.call('POST', '/internal/kill-agent', { body: { session: 's-000000' } })
  assert.equal(refused.error.code, 'session_unknown')
  const { body: empty } = await daemon.call('POST', '/internal/spawn-agent', { body: {} })
  assert.equal(empty.error.code, 'bad_request')
  assert.equal((await daemon.call('GET', '/api/v1/tasks', { headers: { authorization: undefined } })).status, 401)
})
