import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pccFor } from '../pcc.ts'

test('rules are added, listed, tested and removed; comments stay', async t => {
  const pcc = pccFor(t)
  const file = join(pcc.home, 'pcc/rules.toml')
  const runRules = async (...args: string[]) => (await pcc.run(['rules', ...args])).stdout
  assert.match(await runRules('list'), /^No rules\./)
  mkdirSync(join(pcc.home, 'pcc'))
  writeFileSync(file, '# mine\n')
  assert.equal(
    await runRules('add', 'allow', 'Bash', 'docker compose *'),
    `Added: allow Bash docker compose *  (${file}:3)\n`,
  )
  await runRules('add', 'ask', 'Bash', 'docker compose down')
  await runRules('add', 'deny', 'WebFetch')
  assert.equal(
    await runRules('list'),
    'Yours: ./pcc/rules.toml\n   1  allow Bash docker compose *\n   2  ask Bash docker compose down\n   3  deny WebFetch\n',
  )
  assert.match(
    await runRules('test', 'docker compose ps'),
    /^allow .*\nRules that match:\n > allow Bash docker compose \* /,
  )
  assert.match(await runRules('test', 'docker compose down'), /^ask .*\nRules that match:\n {3}allow .*\n > ask Bash/)
  assert.match(await runRules('test', 'ls'), /^allow {2}LOW risk; .*\nNo rule matches\.\n$/)
  assert.equal(await runRules('remove', '2'), `Removed: ask Bash docker compose down  (${file}:8)\n`)
  assert.match(readFileSync(file, 'utf8'), /^# mine\n/)
  const { rules } = JSON.parse(await runRules('list', '--json')) as { rules: object[] }
  assert.deepEqual(rules, [
    {
      number: 1,
      scope: 'user',
      effect: 'allow',
      tool: 'Bash',
      match: 'docker compose *',
      file,
      line: 3,
      in_force: true,
    },
    { number: 2, scope: 'user', effect: 'deny', tool: 'WebFetch', file, line: 8, in_force: true },
  ])
})

test("a project's allow rule waits for trust, its deny rule does not, and a person's deny is final", async t => {
  const pcc = pccFor(t)
  const project = join(pcc.home, 'proj')
  mkdirSync(project)
  const run = (...args: string[]) => pcc.run(args, { cwd: project })
  const verdict = async (command: string) => {
    const { stdout } = await run('rules', 'test', '--json', command)
    return (JSON.parse(stdout) as { verdict: string }).verdict
  }
  const added = await run('rules', 'add', '--project', 'allow', 'Bash', 'docker volume *')
  assert.match(added.stdout, /proj\/\.perpetualcc\/rules\.toml:1/)
  assert.match(added.stderr, /counts here after: pcc trust \./)
  await run('rules', 'add', '--project', 'deny', 'Bash', 'npm test')
  assert.notEqual(await verdict('docker volume create x'), 'allow')
  assert.equal(await verdict('npm test'), 'deny')
  assert.match(
    (await run('rules', 'list')).stdout,
    /1 {2}allow Bash docker volume \* {2}\(waits for pcc trust\)\n {3}2 {2}deny/,
  )
  assert.equal((await run('trust', '--yes')).code, 0)
  assert.equal(await verdict('docker volume create x'), 'allow')
  await run('rules', 'add', 'deny', 'Bash', 'docker *')
  assert.equal(await verdict('docker volume create x'), 'deny')
  await run('rules', 'remove', '2', '--project')
  assert.equal(await verdict('npm test'), 'allow')
})

test('an invalid rule, number or time is refused, and an invalid file is refused with its line', async t => {
  const pcc = pccFor(t)
  const wrong = [
    ['add', 'permit', 'Bash'],
    ['add', 'allow'],
    ['add', 'allow', 'Bash', 'a | b *'],
    ['remove', '0'],
    ['remove', '1'],
    ['test'],
    ['test', 'ls', '--replay'],
    ['test', '--replay', '--since', 'yesterday'],
  ]
  for (const args of wrong) {
    const { code, stdout } = await pcc.run(['rules', ...args])
    assert.deepEqual([code, stdout], [2, ''], args.join(' '))
  }
  const empty = await pcc.run(['rules', 'add', 'allow', 'Bash', ' '])
  assert.equal(empty.code, 2)
  assert.match(empty.stderr, /a pattern cannot be empty; leave it out for every call/i)
  mkdirSync(join(pcc.home, 'pcc'), { recursive: true })
  writeFileSync(join(pcc.home, 'pcc/rules.toml'), '\n[[rules]]\neffect = "allow"\n')
  const { code, stderr } = await pcc.run(['rules', 'add', 'ask', 'Bash'])
  assert.equal(code, 2)
  assert.match(stderr, /pcc\/rules\.toml:2: tool: a text is needed/)
  const listed = await pcc.run(['rules', 'list'])
  assert.equal(listed.code, 2)
  assert.match(listed.stdout, /^wrong: .*rules\.toml:2: .*every call asks\.\n$/)
  const asJson = await pcc.run(['rules', 'list', '--json'])
  assert.deepEqual([asJson.code, JSON.parse(asJson.stdout).problem.code], [2, 'rules_invalid'])
  assert.match((await pcc.run(['explain', 'ls'])).stderr, /rules\.toml:2: .*needed\. Correct that line/)
})

test('a rule for a misspelt tool is refused with the nearest tool; an unknown name is accepted with a remark', async t => {
  const pcc = pccFor(t)
  const add = (...args: string[]) => pcc.run(['rules', 'add', ...args])
  for (const [typed, meant] of [
    ['Wrtie', 'Write'],
    ['Bsh', 'Bash'],
    ['bash', 'Bash'],
    ['webfetch', 'WebFetch'],
  ]) {
    const { code, stdout, stderr } = await add('deny', typed ?? '', './x')
    assert.deepEqual([code, stdout], [2, ''], typed)
    assert.match(stderr, new RegExp(`there is no tool "${typed}"; did you mean ${meant}\\?`))
  }
  const unknown = await add('deny', 'Photograph')
  assert.equal(unknown.code, 0)
  assert.match(unknown.stderr, /Photograph is no tool that pcc knows: .* the rule never counts/)
  for (const tool of ['mcp__files__*', 'mcp__bsh', '*', 'Write', 'Web*']) {
    const { code, stderr } = await add('deny', tool)
    assert.deepEqual([code, stderr], [0, ''], tool)
  }
})
