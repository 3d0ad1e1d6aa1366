import { refuseHook } from '../../agents/hooks/refuse.ts'
import { type AppPaths, ownFolders } from '../../base/app-paths.ts'
import { parseJson } from '../../base/json.ts'
import type { Log } from '../../base/log.ts'
import type { HookOutput, HookVendor } from '../../domain/hooks.ts'
import { openClassifier } from '../../policy/classify/classify.ts'
import { contentInForce } from '../../store/accepted-files.ts'
import { openRememberedAnswers } from '../../store/offline-reads.ts'
import type { HookMemory } from '../memory/hook-memory.ts'
import { openHooks } from './open-hooks.ts'
import { HookOutbox } from './outbox.ts'
import type { HookCaller } from './router.ts'
import { VendorProcesses } from './vendor-process.ts'

export interface InlineRequest {
  vendor: HookVendor
  native: string
  stdin: Buffer
  caller: HookCaller
  paths: AppPaths
  withinMs: number
}

/** Answers a hook in its own process, because there is no daemon: by the same code, and nothing is left running. */
export async function answerInline({
  vendor,
  native,
  stdin,
  caller,
  withinMs,
  ...at
}: InlineRequest): Promise<HookOutput> {
  const body = parseJson(stdin.toString())
  if (body === undefined) return refuseHook(vendor, native, 'pcc could not read this event: it is no JSON.')
  const paths = withAccepted(at.paths)
  using classifier = openClassifier({ own: ownFolders(paths) })
  using answers = openRememberedAnswers(paths.database)
  const outbox = new HookOutbox(paths)
  const hooks = openHooks({
    paths,
    env: caller.env,
    log: SILENT_LOG,
    classifier,
    answers,
    memory: openMemoryOnUse(paths),
    record: async rows => {
      outbox.add(rows)
    },
    register: found => new VendorProcesses(paths).add(found, caller.env),
    isOwn: () => false, // only the daemon knows which of its sessions are at work
  })
  // Awaited here, because what it reads from is closed at the end.
  return await hooks.answer({ vendor, native, stdin: body, caller, signal: AbortSignal.timeout(withinMs) })
}

/** Imported on use: most hooks are about calls, at which memory does nothing. */
function openMemoryOnUse(paths: AppPaths): HookMemory {
  const open = async () => (await import('../memory/hook-memory.ts')).openHookMemory(paths)
  return {
    recall: async (event, project, role) => (await open()).recall(event, project, role),
    tidy: async (event, project, settings) => (await open()).tidy(event, project, settings),
  }
}

/** The person's files count as they count for the daemon. */
function withAccepted(paths: AppPaths): AppPaths {
  const inForce = async (file: string, onDisk: string) => contentInForce(paths, file, onDisk)
  return { ...paths, accepted: { inForce, begin: () => {}, notes: () => [] } }
}

/** Nobody reads the standard error of a hook; a failure is in the reason of the refusal. */
const SILENT_LOG: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => SILENT_LOG,
  hide: () => () => {},
  close: () => {},
}
