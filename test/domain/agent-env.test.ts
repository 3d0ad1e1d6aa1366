import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { agentEnvironment, STANDARD_AGENT_ENV } from '../../src/domain/agent-env.ts'

const pass = (env: Record<string, string | undefined>, patterns: readonly string[] = STANDARD_AGENT_ENV) =>
  agentEnvironment(env, patterns)

test('an agent sees the basic variables and those that say which Claude to use', () => {
  const env = {
    HOME: '/h',
    PATH: '/bin',
    LC_ALL: 'C',
    XDG_CONFIG_HOME: '/x',
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: 'u',
    CLAUDE_CODE_OAUTH_TOKEN: 't',
    CLAUDE_CONFIG_DIR: '/c',
    https_proxy: 'p',
    NODE_EXTRA_CA_CERTS: '/ca',
  }
  assert.deepEqual(pass(env), env)
})

test('folders of the PATH that are not whole paths do not reach an agent', () => {
  assert.deepEqual(pass({ PATH: './node_modules/.bin:/a/bin::/usr/bin:.' }), { PATH: '/a/bin:/usr/bin' })
})

test('no other variable of the caller is passed on', () => {
  const secrets = {
    GITHUB_TOKEN: '1',
    OPENAI_API_KEY: '2',
    SSH_AUTH_SOCK: '3',
    AWS_SECRET_ACCESS_KEY: '4',
    GOOGLE_APPLICATION_CREDENTIALS: '5',
    DATABASE_URL: '6',
    GEMINI_API_KEY: '7',
    ANTHROPIC: '8',
  }
  assert.deepEqual(pass({ ...secrets, HOME: '/h', UNSET: undefined }), { HOME: '/h' })
})

test("a cloud's credentials are passed on only if the model runs in that cloud", () => {
  const aws = { AWS_PROFILE: 'p', AWS_REGION: 'r', AWS_BEARER_TOKEN_BEDROCK: 'b' }
  const google = { GOOGLE_APPLICATION_CREDENTIALS: '/g', CLOUD_ML_REGION: 'e', VERTEX_REGION_CLAUDE: 'v' }
  const azure = { AZURE_CLIENT_ID: 'a' }
  const all = { ...aws, ...google, ...azure }
  const with_ = (flag: string, value = '1') => pass({ ...all, [flag]: value })
  assert.deepEqual(with_('CLAUDE_CODE_USE_BEDROCK'), { ...aws, CLAUDE_CODE_USE_BEDROCK: '1' })
  assert.deepEqual(with_('CLAUDE_CODE_USE_VERTEX', 'true'), { ...google, CLAUDE_CODE_USE_VERTEX: 'true' })
  assert.deepEqual(with_('CLAUDE_CODE_USE_FOUNDRY'), { ...azure, CLAUDE_CODE_USE_FOUNDRY: '1' })
  assert.deepEqual(with_('CLAUDE_CODE_USE_BEDROCK', '0'), { CLAUDE_CODE_USE_BEDROCK: '0' })
})

test('a person may add names and prefixes', () => {
  assert.deepEqual(pass({ FOO: '1', FOOD: '2', BAR_A: '3' }, ['FOO', 'BAR_*']), { FOO: '1', BAR_A: '3' })
})

test('variables that change how programs load, our own, and the marks of a surrounding Claude Code are never passed on', () => {
  const never = {
    PCC_HOME: '1',
    PCC_SESSION_MARK: '2',
    NODE_OPTIONS: '3',
    npm_config_registry: '4',
    LD_PRELOAD: '5',
    BASH_ENV: '6',
    CLAUDECODE: '7',
    CLAUDE_CODE_ENTRYPOINT: '8',
    CLAUDE_CODE_SESSION_ID: '9',
    'BASH_FUNC_ls%%': '10',
  }
  assert.deepEqual(pass(never), {})
  assert.deepEqual(pass(never, ['*', ...Object.keys(never)]), {})
})

test("variables that switch off Claude Code's hooks, permissions or trust are never passed on, and of the others only known ones", () => {
  const never = {
    CLAUDE_CODE_SIMPLE: '1',
    CLAUDE_CODE_SAFE_MODE: '1',
    CLAUDE_CODE_EVEN_MORE_DANGEROUSLY_SKIP_PERMISSIONS: '1',
    CLAUDE_CODE_DISABLE_HOOKS_OF_TOMORROW: '1',
    CLAUDE_CODE_BYPASS_IT: '1',
    CLAUDE_CODE_SANDBOXED: '1',
    CLAUDE_CODE_SHELL_PREFIX: '/evil',
    CLAUDE_CODE_MANAGED_SETTINGS_PATH: '/evil',
    CLAUDE_CODE_PLUGIN_DIRS: '/evil',
    CLAUDE_BG_SESSION_PERMISSION_RULES: '[]',
  }
  assert.deepEqual(pass(never, ['*', 'CLAUDE_*', 'CLAUDE_CODE_*', ...Object.keys(never)]), {})
  assert.deepEqual(pass({ CLAUDE_CODE_NEVER_HEARD_OF: '1', CLAUDE_CODE_MAX_RETRIES: '1' }), {
    CLAUDE_CODE_MAX_RETRIES: '1',
  })
})

test('filtering an environment twice changes nothing more, whatever the patterns', () => {
  const name = fc.constantFrom(
    'HOME',
    'ANTHROPIC_API_KEY',
    'AWS_X',
    'CLAUDE_CODE_USE_BEDROCK',
    'PCC_X',
    'FOO',
    'NODE_OPTIONS',
  )
  const patterns = fc.array(fc.constantFrom(...STANDARD_AGENT_ENV, '*', 'FOO', 'PCC_*'))
  fc.assert(
    fc.property(fc.dictionary(name, fc.string()), patterns, (env, some) => {
      const once = agentEnvironment(env, some)
      // A condition that did not travel itself can no longer hold, so a second pass may only take away.
      const twice = agentEnvironment(once, some)
      for (const [key, value] of Object.entries(twice)) assert.equal(once[key], value)
      assert.deepEqual(
        agentEnvironment(agentEnvironment(env, STANDARD_AGENT_ENV), STANDARD_AGENT_ENV),
        agentEnvironment(env, STANDARD_AGENT_ENV),
      )
      assert.ok(!Object.keys(once).some(key => key.startsWith('PCC_') || key === 'NODE_OPTIONS'))
    }),
  )
})
