import type { Command } from 'commander'
import { commandContext, ExitCode } from '../context.ts'

/** `pcc doctor`: checks everything that pcc needs and says how to repair it. */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('Check everything that pcc needs, and say how to repair it (exit code 1 if something is wrong)')
    .option('--deep', 'also start the agent, and ask it whether it is logged in')
    .option('--repair', 'rebuild a damaged store from what can be read; the damaged file is kept')
    .option('--json', 'print JSON')
    .action(async ({ repair: wantsRepair, deep = false }: { repair?: boolean; deep?: boolean }, command: Command) => {
      const { paths, env, json, out, terminal } = await commandContext(command)
      const [{ findingLines, rebuiltLines }, { examine, repair }, { tryAccounts }] = await Promise.all([
        import('./doctor-checks.ts'),
        import('./doctor-examine.ts'),
        import('../connection/client.ts'),
      ])
      const rebuilt = wantsRepair ? await repair(paths) : undefined
      const findings = await examine(paths, env, { deep })
      if (findings.some(({ area, level }) => area === 'login' && level === 'ok')) await tryAccounts(paths)
      const isOk = findings.every(({ level }) => level !== 'problem')
      if (json) out(JSON.stringify({ ok: isOk, findings, ...(wantsRepair && { rebuilt: rebuilt ?? null }) }, null, 2))
      else {
        if (wantsRepair && !rebuilt) out('The store is in order; there is nothing to repair.')
        for (const line of [...(rebuilt ? [...rebuiltLines(rebuilt), ''] : []), ...findingLines(findings, terminal)])
          out(line)
      }
      throw new ExitCode(isOk ? 0 : 1)
    })
}
