import { refuseHook } from '../../agents/hooks/refuse.ts'
import type { HookOutput, HookVendor } from '../../domain/hooks.ts'
import type { DaemonContext } from '../context.ts'

export interface HookRequest {
  vendor: HookVendor
  native: string
  body: unknown
  signal: AbortSignal
}

export async function handleHook(_daemon: DaemonContext, { vendor, native }: HookRequest): Promise<HookOutput> {
  return refuseHook(vendor, native, 'Nothing judges this call yet.')
}
