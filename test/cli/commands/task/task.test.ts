import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { appPathsFor } from '../../../../src/base/app-paths.ts'
import type { Need } from '../../../../src/domain/needs.ts'
import type { TaskView } from '../../../../src/domain/task.ts'
import { openStore } from '../../../../src/store/open.ts'
import { onTerminal } from '../../../e2e/pty.ts'
import { type Outcome, type Pcc, pccFor } from '../../pcc.ts'
import { recordRefused } from '../inbox/waiting.ts'

// One daemon serves the whole file; every test has a project of its own.
const pcc: Pcc = pccFor({ after: hook => after(hook as Parameters<typeof after>[0]) })

/** `pcc task …` in a project of this name. */
function project(name: string) {
  const cwd = join(pcc.home, name)
  mkdirSync(cwd, { recursive: true })
  const run = (...args: string[]) => pcc.run(['task', ...args], { cwd })
  const good = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args)
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return stdout
  }
  return {
    cwd,
    run,
    good,
    json: async <T>(...args: string[]) => JSON.parse(await good(...args, '--json')) as T,
    async add(title: string, ...args: string[]) {
      const { task } = JSON.parse(await good('add', title, ...args, '--json')) as { task: TaskView }
      return task.id
    },
    async states() {
      const { tasks } = JSON.parse(await good('list', '--json')) as { tasks: TaskView[] }
      return Object.fromEntries(tasks.map(({ title, state }) => [title, state]))
    },
  }
}

test('tasks are added, ordered, done, failed, reset and deleted', async () => {
  const { add, good, run, states, json } = project('work')
  const api = await add('Build the API', '-p', '5', '-l', 'api', '--accept', 'tests pass', '-d', 'with care')
  const docs = await add('Write docs', '--after', api.slice(2, 5))
  await add('Announce', '--after', docs)
  assert.deepEqual(await states(), { 'Build the API': 'ready', 'Write docs': 'blocked', Announce: 'blocked' })
  assert.match(
    await good('show', api),
    /Priority: 5\nLabels: api\n[\s\S]*with care\nDone when:\n {2}- tests pass\nComes before:/,
  )
  assert.match(await good('done', api), /Build the API: done\n/)
  assert.match(await good('list', '--ready'), /^t-\w+ {2}○ ready {2}Write docs\n\n1 task: 1 ready\n$/)
  await good('fail', docs, '-r', 'no time')
  assert.match(await good('list', '--state', 'open'), /Announce .*comes after t-\w+ \(Write docs\), which failed/)
  assert.deepEqual(refused(await run('delete', docs)), [3, 'confirmation_needed'])
  assert.deepEqual(refused(await run('delete', docs, '--yes')), [2, 'task_needed'])
  assert.match(await good('reset', docs), /Write docs: ready\nNo run is under way there\. Begin with: pcc run \.\n$/)
  assert.equal((await states())['Write docs'], 'ready')
  await good('update', docs, '--title', 'Write the docs', '--add-label', 'text', '--feature', 'launch')
  const { task } = await json<{ task: TaskView }>('show', docs)
  assert.deepEqual([task.title, task.labels, task.feature], ['Write the docs', ['text'], 'launch'])
  assert.match(
    await good('log', docs, '-m', 'half of it'),
    /✗ failed: no time \(human\)\n[\s\S]*changed, title, .*feature.* \(human\)\n.*half of it\n$/,
  )
  await good('cancel', docs)
  assert.equal((await good('delete', docs, '--cascade', '--yes')).split('\n').length, 3)
  assert.deepEqual(await states(), { 'Build the API': 'done' })
})

test('cancelling a task says what can never begin without it and what to type, and that stays in view until it is done', async () => {
  const { cwd, add, good } = project('stranded')
  const base = await add('Lay the base')
  const wall = await add('Build walls', '--after', base)
  const roof = await add('Put on the roof', '--after', wall)
  assert.doesNotMatch(await good('cancel', roof), /cannot begin/)
  await good('reset', roof)
  const said = await good('cancel', base)
  const [remove, cancel] = [`pcc task deps rm ${base} ${wall}`, `pcc task cancel ${wall}`]
  assert.ok(said.includes(`${wall} (Build walls) comes after ${base} and cannot begin now.`), said)
  for (const command of [remove, cancel]) assert.ok(said.includes(`\n  ${command}\n`), said)
  const pending = async () =>
    JSON.parse((await pcc.run(['pending', '--json'], { cwd })).stdout).needs.map((need: Need) => [need.text, need.next])
  assert.deepEqual(await pending(), [
    [
      `Lay the base: it was cancelled, and ${wall}, which comes after it, cannot begin; cancel that too with: ${cancel}`,
      remove,
    ],
  ])
  const alone = await pcc.run(['run', wall, '--dry-run'], { cwd })
  assert.ok(alone.stderr.includes(`Do it without ${base}, which was cancelled: ${remove}`), alone.stderr)
  const { stdout } = await pcc.run(['run', '.', '--dry-run'], { cwd })
  assert.ok(stdout.replaceAll(/\s+/g, ' ').includes(`which is cancelled. Let it begin without that: ${remove}`), stdout)
  writeFileSync(join(cwd, 'more.md'), '- [ ] Paint it\n')
  const graph = await good('import', 'more.md')
  assert.match(graph, /Step 1\n.*Paint it[\s\S]*Cannot begin\n.*Build walls.*\n.*Put on the roof/)
  assert.doesNotMatch(graph, /Step 2/)
  await good(...remove.split(' ').slice(2))
  assert.deepEqual(await pending(), [])
})

test('a finished task that waits for a person is listed as waiting, not as being verified', async () => {
  const { add, good } = project('asked')
  const [asked, checked] = [await add('Asked'), await add('Checked')]
  {
    await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
    for (const id of [asked, checked])
      await store.transaction(async tx => {
        const task = await store.tasks.get(id, tx)
        if (task) await store.tasks.swap(task, { state: 'verifying' }, tx)
      })
  }
  await recordRefused(pcc, [{ state: 'open', task_id: asked }])
  assert.match(
    await good('list'),
    /⏳ waiting +Asked {2}· waits for you: pcc respond \d+\nt-\w+ {2}\S verifying {2}Checked\n\n2 tasks: 1 waiting, 1 verifying\n/,
  )
})

test('dependencies and parts are added, refused where they make a cycle, and drawn', async () => {
  const { add, good, run, json } = project('pictures')
  const [a, b] = [await add('Alpha "quoted" <b>'), await add('Beta')]
  const part = await add('Part', '--parent', b)
  await good('deps', 'add', a, b)
  assert.match(await good('deps', 'list', b), new RegExp(`^${b} comes after:\n.*${a} .*\nand before: nothing\n$`))
  const circle = await run('deps', 'add', b, a)
  assert.deepEqual(refused(circle), [2, 'task_cycle'])
  assert.match(circle.stderr, new RegExp(`${a} → ${b} → ${a}`))
  assert.deepEqual(refused(await run('deps', 'add', a, a)), [2, 'task_cycle'])
  assert.match(await good('tree', b), new RegExp(`^○ ${b} Beta \\(0/1\\): blocked\n└ ○ ${part} Part: blocked\n$`))
  assert.match(await good('graph'), /^Step 1\n[\s\S]*Step 2\n/)
  assert.match(
    await good('graph', '--format', 'dot'),
    new RegExp(`"${a}" \\[label="Alpha \\\\"quoted\\\\" <b>\\\\n[\\s\\S]*"${a}" -> "${b}"`),
  )
  assert.match(
    await good('graph', '--format', 'mermaid'),
    /^flowchart LR\n {2}t_\w+\["Alpha #34;quoted#34; #60;b#62;<br\/>/,
  )
  const svg = await good('graph', '--format', 'svg')
  assert.match(svg, /^<svg [\s\S]*marker-end[\s\S]*Alpha &#34;quoted&#34; &#60;b&#62;[\s\S]*<\/svg>\n$/)
  const { nodes, edges } = await json<{ nodes: unknown[]; edges: unknown[] }>('graph')
  assert.deepEqual([nodes.length, edges], [3, [{ from: a, to: b }]])
  await good('deps', 'rm', a, b)
  assert.deepEqual(refused(await run('deps', 'rm', a, b)), [2, 'task_not_after'])
})

test('exported tasks can be imported into another project, all or none', async () => {
  const here = project('here')
  const first = await here.add('First', '-l', 'x')
  await here.add('Second', '--after', first, '-d', 'two\n\nlines')
  await here.good('done', first)
  const intoFolder = await here.run('export', '-o', here.cwd)
  assert.deepEqual(refused(intoFolder), [2, 'tasks_unreadable'])
  assert.match(intoFolder.stderr, /it is a folder; name a file in it/)
  const exported = join(here.cwd, 'tasks.md')
  await here.good('export', '-o', exported)
  assert.match(
    readFileSync(exported, 'utf8'),
    /^# Tasks\n\n- \[x\] First <!-- task: .*\n- \[ \] Second .*\n {2}two\n\n {2}lines\n$/,
  )
  assert.match(
    await here.good('import', exported),
    /^Imported 0 tasks, 1 there already, 1 over already and left as it is\.\nStep 1\n/,
  )
  const there = project('there')
  assert.deepEqual(refused(await there.run('import', exported)), [2, 'task_taken'], 'tasks of another project')
  assert.match(
    await there.good('import', exported, '--copy', '--dry-run'),
    /^The file has 2 new tasks\.\nNothing was stored\.\n$/,
  )
  assert.deepEqual(await there.states(), {})
  await there.good('import', exported, '--copy')
  assert.deepEqual(await there.states(), { First: 'done', Second: 'ready' })
  const plan = join(here.cwd, 'plan.md')
  writeFileSync(plan, '1. Validate ISBN numbers <!-- task: {"id":"isbn"} -->\n2. Import books (after: isbn)\n')
  const books = project('books')
  const line = '[^\\n]*\\n'
  const picture = `^Imported 2 tasks\\.\\nStep 1\\n  . t-[0-9a-f]{6} \\(isbn\\) Validate${line}Step 2\\n  . t-[0-9a-f]{6} Import books: blocked  ← isbn\\n$`
  assert.match(await books.good('import', plan), new RegExp(picture))
  await books.good('update', 'isbn', '--title', 'Check ISBN numbers')
  const brief = await books.good('brief', 'isbn')
  assert.match(brief, /Check ISBN numbers/)
  assert.doesNotMatch(brief, /Validate ISBN/)
  await books.good('deps', 'rm', 'isbn', await books.add('Later', '--after', 'isbn'))
  const wrong = join(here.cwd, 'wrong.jsonl')
  writeFileSync(wrong, '{"title":"ok"}\n{"title":""}\n')
  assert.deepEqual(refused(await there.run('import', wrong)), [2, 'tasks_wrong'])
  for (const content of ['', Buffer.from([0x89, 0xff, 0])]) {
    writeFileSync(wrong, content)
    const outcome = await there.run('import', wrong)
    assert.deepEqual(refused(outcome), [2, 'tasks_wrong'])
    assert.match(outcome.stderr, /next: Correct the file and import it again; the format: pcc docs tasks/)
  }
  assert.deepEqual(refused(await there.run('import', join(here.cwd, 'nowhere.md'))), [2, 'tasks_unreadable'])
  assert.equal(Object.keys(await there.states()).length, 2)
})

test('invalid input is refused with exit code 2, and nothing changes', async () => {
  const { add, run, good, states } = project('bad')
  const id = await add('日本語 🎉 é')
  await add('Bell\u0007 \u001b[31mred')
  assert.match(await good('list'), /日本語 🎉 é\n.*Bell red\n/)
  for (const args of [
    ['add', ''],
    ['add', ' \u0007'],
    ['add', 'x', '--after', 't-ffffff'],
    ['add', 'x', '--parent', 'nowhere'],
    ['add', 'x', '--label', 'two words'],
    ['show', 't-zzzzzz'],
    ['show', 't-'],
    ['done', 'nothing'],
    ['list', '--state', 'gone'],
    ['update', id],
  ]) {
    const { code, stderr } = await run(...args)
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
  }
  assert.equal(Object.keys(await states()).length, 2)
  const inside = await pcc.run(['task', 'done', id], { env: { PCC_SESSION_MARK: 's-1' } })
  assert.deepEqual([inside.code, /an agent cannot decide for a person/.test(inside.stderr)], [3, true])
})

test('filters narrow the list, and --all lists all projects', async () => {
  const filtered = project('filters')
  await filtered.add('Fix login', '--feature', 'auth', '-l', 'bug', '-d', 'the Ümlaut')
  await filtered.add('100% sure', '-l', 'bugs')
  const titles = async (...args: string[]) =>
    (JSON.parse(await filtered.good('list', ...args, '--json')) as { tasks: TaskView[] }).tasks.map(
      ({ title }) => title,
    )
  assert.deepEqual(await titles('--feature', 'auth'), ['Fix login'])
  assert.deepEqual(await titles('--label', 'bug'), ['Fix login'])
  assert.deepEqual(await titles('--text', 'LOGIN'), ['Fix login'])
  assert.deepEqual(await titles('--text', 'Üm'), ['Fix login'])
  assert.deepEqual(await titles('--text', '0%'), ['100% sure'])
  assert.deepEqual(await titles('--state', 'done,failed'), [])
  assert.ok((await titles('--all')).length >= 2)
  assert.match(await filtered.good('list', '--text', 'nothing like it'), /^No task matches/)
})

/** The exit code and the error code, which is recognised by its message. */
function refused({ code, stderr }: Outcome): [number | null, string] {
  const messages: Record<string, RegExp> = {
    task_needed: /depend on task/,
    confirmation_needed: /needs your confirmation/,
    task_cycle: /would wait for itself/,
    task_taken: /with these ids already/,
    tasks_wrong: /cannot be imported/,
    tasks_unreadable: /cannot be used/,
    task_not_after: /does not come after/,
  }
  return [code, Object.keys(messages).find(name => messages[name]?.test(stderr)) ?? stderr]
}

test('at a terminal a task of which only the title says that it is there is changed after a yes, and not after a no', async t => {
  const { cwd, good, json } = project('titles')
  const plan = join(cwd, 'plan.md')
  writeFileSync(plan, '- [ ] Build the shed\n')
  await good('import', plan)
  writeFileSync(plan, '- [ ] Build the shed\n  Of oak.\n')
  const words = async () => (await json<{ tasks: TaskView[] }>('list')).tasks.map(({ description }) => description)
  for (const [answer, code, expected] of [
    ['n', 3, 'Build the shed'],
    ['y', 0, 'Of oak.'],
  ] as const) {
    const terminal = onTerminal(t, pcc, ['task', 'import', plan, '--project', cwd])
    await terminal.see(/Only the title says that these are there already: t-\w+ Build the shed\. .*\[Y\/n\] /s)
    terminal.type(`${answer}\r`)
    assert.equal(await terminal.exit, code)
    assert.deepEqual(await words(), [expected])
  }
})
