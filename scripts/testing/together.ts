import assert from 'node:assert/strict'
import { relative, resolve } from 'node:path'
import { after, before, describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import { stopFollowingPromises } from './follow-promises.ts'

/** Variables that the Claude Agent SDK sets when it is loaded. */
const OF_AGENT_SDK = ['CLAUDE_AGENT_SDK_VERSION', 'NoDefaultCurrentDirectoryInExePath']

// Runs several test files in one process, so that shared modules are loaded once. Each file is its own suite, so its hooks apply
// only to its own tests and run before the next file begins; and each must leave the process as it found it.
const files = process.argv.slice(2)
let missing = files.length
for (const file of files) {
  describe(relative(process.cwd(), resolve(file)), async () => {
    let env: NodeJS.ProcessEnv = {}
    const cwd = process.cwd()
    before(() => {
      env = { ...process.env }
    })
    await import(pathToFileURL(resolve(file)).href)
    after(() => {
      const names = Object.keys({ ...env, ...process.env }).filter(name => env[name] !== process.env[name])
      const left = names.filter(name => !OF_AGENT_SDK.includes(name))
      assert.deepEqual(left, [], 'the tests of this file left other variables in the environment')
      assert.equal(process.cwd(), cwd, 'the tests of this file left another working directory')
    })
    missing -= 1
    if (missing === 0) stopFollowingPromises()
  })
}
