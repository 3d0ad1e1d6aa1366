import asyncHooks, { type HookCallbacks } from 'node:async_hooks'

/** The program that imports several test files, each in its own suite. */
const TOGETHER = /\/together\.ts$/

let stop = () => {}

// Loaded before the tests of a process. To know which test an error belongs to, node:test follows every promise, which is an eighth of
// the processor time of tests that start no processes. It is needed only while files are imported, to know the suite that a test
// belongs to. After that an error outside of any awaited promise still fails the run, but is told without the name of its test.
const createHook = asyncHooks.createHook
asyncHooks.createHook = (callbacks: HookCallbacks) => {
  const [full, light] = [createHook(callbacks), createHook({ ...callbacks, trackPromises: false } as HookCallbacks)]
  let followed = TOGETHER.test(process.argv[1] ?? '') ? full : light
  stop = () => {
    followed.disable()
    followed = light.enable()
  }
  return { enable: () => followed.enable(), disable: () => followed.disable() }
}

/** To be called when every test file has been imported. */
export function stopFollowingPromises(): void {
  stop()
}
