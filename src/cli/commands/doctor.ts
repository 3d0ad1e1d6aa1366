import type { Command } from 'commander'
import { contextOf, ExitCode } from '../context.ts'

/** `pcc doctor`: looks at everything that pcc needs and says how to mend what is not well. */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('Check everything that pcc needs, and say how to mend it (exit code 1 if something is wrong).')
    .option('--repair', 'rebuild a damaged store from what can be read; the damaged file is kept')
    .option('--json', 'print JSON')
    .action(async ({ repair: wantsRepair }: { repair?: boolean }, command: Command) => {
      const { paths, env, json, out, terminal } = await contextOf(command)
      const { findingLines, rebuiltLines } = await import('./doctor-checks.ts')
      const rebuilt = wantsRepair ? await (await import('./doctor-examine.ts')).repair(paths) : undefined
      const { examine } = await import('./doctor-examine.ts')
      const findings = await examine(paths, env)
      const isWell = findings.every(({ level }) => level !== 'problem')
      if (json) out(JSON.stringify({ ok: isWell, findings, ...(wantsRepair && { rebuilt: rebuilt ?? null }) }, null, 2))
      else {
        if (wantsRepair && !rebuilt) out('The store is in order; there is nothing to repair.')
        for (const line of [...(rebuilt ? [...rebuiltLines(rebuilt), ''] : []), ...findingLines(findings, terminal)])
          out(line)
      }
      throw new ExitCode(isWell ? 0 : 1)
    })
}
