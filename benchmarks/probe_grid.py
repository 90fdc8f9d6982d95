import time, torch
from eitlens.domain import Square
from eitlens.forward import GridSolver, BoundaryIntegralSolver, currents
from eitlens.phantom import EllipseSampler, indicator
dev=torch.device('cuda'); sq=Square(200); g=currents.cosine(sq,3).to(dev)
for nb in (64,256,1024):
    b=EllipseSampler(seed=1).batch(0,nb,dev); s=GridSolver(sq)
    s.difference(b,g); torch.cuda.synchronize(); t=time.time()
    for _ in range(3): f=s.difference(b,g)
    torch.cuda.synchronize(); dt=(time.time()-t)/3; print(f"grid {nb}: {dt*1e3:.1f} ms {3*nb/dt:.0f} sample-currents/s, peak {torch.cuda.max_memory_allocated()/2**30:.1f} GiB",flush=True)
b=EllipseSampler(seed=1,disjoint=True).batch(0,256,dev)
a=GridSolver(sq).difference(b,g); r=BoundaryIntegralSolver(sq).difference(b,g)
print('err', ((a-r).flatten(1).norm(dim=1)/r.flatten(1).norm(dim=1)).median())
x=GridSolver(sq).difference(b,g); print('deterministic', torch.equal(a,x)); c=GridSolver(sq).difference(b.to(torch.device('cpu'))[:2],g.cpu()); print('cpu', ((a[:2].cpu()-c).norm()/c.norm()))
from torch.profiler import profile, ProfilerActivity
b=EllipseSampler(seed=1).batch(0,256,dev)
with profile(activities=[ProfilerActivity.CUDA,ProfilerActivity.CPU]) as p: s.difference(b,g); torch.cuda.synchronize()
print(p.key_averages().table(sort_by='self_cuda_time_total',row_limit=22,max_name_column_width=60)[:6000])
