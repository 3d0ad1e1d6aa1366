import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { tempDir } from '../../support/world.ts'
import { pccFor } from '../pcc.ts'

function world(t: TestContext) {
  const pcc = pccFor(t)
  const project = join(pcc.home, 'shop')
  mkdirSync(join(project, '.claude'), { recursive: true })
  const write = (path: string, text: string) => writeFileSync(join(project, path), text)
  write('.claude/settings.json', '{"env":{"A":"\\u001b[2Jclear"},"permissions":{"allow":["Bash(npm:*)"]}}')
  write('.mcp.json', '{"mcpServers":{"db":{"command":"node"}}}')
  return { ...pcc, project, write, trustFile: appPathsFor({ env: pcc.env }).trustFile }
}

test('without a person or --yes everything is shown, nothing is agreed to, and the exit code is 3', async t => {
  const { run, project, trustFile } = world(t)
  const { code, stdout, stderr } = await run(['trust', project])
  assert.equal(code, 3)
  assert.equal(
    stdout,
    `Project: ${project}
These files run code or widen what an agent may do:

  .claude/settings.json
    env A=\\u{1b}[2Jclear
    allow Bash(npm:*)
  .mcp.json
    MCP server db: {"command":"node"}

`,
  )
  assert.match(stderr, /Trusting .* needs your confirmation/)
  assert.ok(!existsSync(trustFile))
})

test('--yes grants trust, status shows it, a change is named, and revoke withdraws it', async t => {
  const { run, project, write } = world(t)
  const stateOf = async () => JSON.parse((await run(['trust', 'status', project, '--json'])).stdout)
  assert.equal((await stateOf()).state, 'untrusted')
  const granted = await run(['trust', '--yes'], { cwd: project })
  assert.equal(granted.code, 0)
  assert.match(granted.stdout, /\nTrusted since \d+ \w+ \d{4}: .*shop\n$/)
  assert.equal((await stateOf()).state, 'trusted')
  assert.match((await run(['trust', project])).stdout, /^Trusted since/, 'asked once only')

  write('.mcp.json', '{"mcpServers":{"db":{"command":"evil"}}}')
  const { stdout } = await run(['trust', 'status', project])
  assert.match(stdout, /\.mcp\.json {2}\(changed\)/)
  assert.match(stdout, /Changed since \d+ \w+ \d{4}: \.mcp\.json\. To agree again: pcc trust /)
  assert.deepEqual((await stateOf()).changed, ['.mcp.json'])

  await run(['trust', project, '--yes'])
  assert.match((await run(['trust', 'revoke', project])).stdout, /^No longer trusted: /)
  assert.match((await run(['trust', 'revoke', project])).stdout, /^Nothing to revoke: /)
  assert.equal((await stateOf()).state, 'untrusted')
})

test('a project with nothing to trust is reported as such', async t => {
  const { run } = world(t)
  const { code, stdout } = await run(['trust'], { cwd: tempDir(t) })
  assert.equal(code, 0)
  assert.match(stdout, /^Nothing to trust in /)
})

test('settings of a project file take effect once they are trusted', async t => {
  const { run, project, write } = world(t)
  write('.perpetualcc.toml', '[agents]\nenv = ["FOO"]\n')
  const env = async () => JSON.parse((await run(['config', 'get', 'agents.env', '--json'], { cwd: project })).stdout)
  assert.equal((await env()).waits_for_trust, true)
  assert.notDeepEqual((await env()).value, ['FOO'])
  await run(['trust', project, '--yes'])
  assert.deepEqual([(await env()).value, (await env()).waits_for_trust], [['FOO'], false])
})

test('a path that does not exist is refused with exit 2', async t => {
  const { run } = world(t)
  for (const args of [
    ['trust', 'nowhere'],
    ['trust', 'status', 'nowhere'],
    ['trust', 'revoke', 'nowhere'],
  ]) {
    assert.equal((await run(args)).code, 2, args.join(' '))
  }
})
