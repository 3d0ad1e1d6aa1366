/** How what a project says joins what holds already: only ever to the stricter side. */
export const both = (held: boolean, proposed: boolean): boolean => held && proposed
export const lower = (held: number, proposed: number): number => Math.min(held, proposed)
export const shared = (held: string[], proposed: string[]): string[] => held.filter(each => proposed.includes(each))
export const joined = (held: string[], proposed: string[]): string[] => [...new Set([...held, ...proposed])]
export const onlyTo =
  <T>(strict: T) =>
  (held: T, proposed: T): T =>
    proposed === strict ? strict : held
